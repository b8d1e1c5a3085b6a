"""What cannot be carried or kept is said before the first event, by `check` and by `run`, and the
remedy that is named helps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import uproot

from forkrun.errors import InputError
from forkrun.merge import merge_files
from tests.server.root_program import call_root
from tests.support.beside_file import write_beside, write_counts, write_rntuple
from tests.support.jobs import Ended, forkrun, write_job


def files_with(folder: Path, *besides: dict[str, Any]) -> list[str]:
    files = [str(folder / f"{number}.root") for number in range(len(besides))]
    for number, beside in enumerate(besides):
        call_root(write_beside, files[number], 100 * number, beside)
    return files


def try_job(folder: Path, files: list[str], *options: str, **output: Any) -> tuple[Ended, Ended]:
    """`check` and `run`."""
    job = {
        "source": {"files": files},
        "forking": {"children": 0},
        "outputs": [{"label": "all", **output}],
    }
    path = write_job(folder, job)
    settings = [text for option in options for text in ("--set", option)]
    checked = forkrun("check", path, *settings, cwd=folder)
    return checked, forkrun("run", path, "-o", folder / "run", "--force", *settings, cwd=folder)


def check_refused(folder: Path, files: list[str], *texts: str) -> None:
    for ended in try_job(folder, files):
        assert ended.code == 3, ended.err
        assert all(text in ended.err for text in texts), ended.err
    assert not (folder / "run/ledger").exists()  # no event was processed


def events_of(folder: Path) -> list[int]:
    with uproot.open(folder / "run/output/all.root") as file:
        numbers: list[int] = file["Events"]["event"].array().tolist()
        return numbers


def test_a_branch_that_begins_late_can_be_dropped(tmp_path: Path) -> None:
    files = files_with(tmp_path, {"late": True})
    check_refused(tmp_path, files, "0.root: branch late", "fewer entries", 'drop = ["late"]')
    assert [ended.code for ended in try_job(tmp_path, files, drop=["late"])] == [0, 0]
    assert len(events_of(tmp_path)) == 11


@pytest.mark.slow
def test_an_rntuple_beside_events_is_carried_as_a_tree_or_left_out(tmp_path: Path) -> None:
    files = files_with(tmp_path, {"rntuple": "side"})
    output = tmp_path / "run/output/all.root"
    assert [ended.code for ended in try_job(tmp_path, files)] == [0, 0]
    assert events_of(tmp_path) == list(range(10))
    with uproot.open(output) as file:
        assert file["side"]["x"].array().tolist() == [1.0]
    assert [ended.code for ended in try_job(tmp_path, files, "merge.carry=false")] == [0, 0]
    with uproot.open(output) as file:
        assert "side" not in file


@pytest.mark.slow
def test_an_rntuple_under_the_name_of_a_tree_is_not_left_out_of_a_merge(tmp_path: Path) -> None:
    (tree,) = files_with(tmp_path, {})
    call_root(write_rntuple, str(tmp_path / "ntuple.root"), "Events")
    out = tmp_path / "out.root"
    for trees in (None, ["Events"]):
        with pytest.raises(InputError, match=r'ntuple.root: "Events" is an RNTuple'):
            merge_files([tree, tmp_path / "ntuple.root"], out, trees=trees)
    assert not out.exists()


def test_an_rntuple_beside_trees_is_merged_or_left_out(tmp_path: Path) -> None:
    (file,) = files_with(tmp_path, {"rntuple": "side"})
    out = tmp_path / "out.root"
    assert merge_files([file, file], out) == {"Events": 20, "side": 2}
    with uproot.open(out) as merged:
        assert merged["side"]["x"].array().tolist() == [1.0, 1.0]
    assert merge_files([file, file], out, trees=["Events"], force=True) == {"Events": 20}


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("kind", ["tag", "map"])
def test_of_texts_that_differ_the_first_can_be_kept(tmp_path: Path, kind: str) -> None:
    files = files_with(tmp_path, {kind: "v1"}, {kind: "v1"}, {kind: "v2"})
    check_refused(tmp_path, files, "2.root: ", f'object "{kind}"', "merge.keep_first = true")
    assert [ended.code for ended in try_job(tmp_path, files, "merge.keep_first=true")] == [0, 0]
    assert len(events_of(tmp_path)) == 30


@pytest.mark.slow
def test_histograms_that_cannot_be_joined_can_be_left_out(tmp_path: Path) -> None:
    files = files_with(tmp_path, {"bins": [4, 0, 1]}, {"bins": [3, 0.1, 0.9]})
    check_refused(tmp_path, files, "1.root: ", 'object "h" (TH1D)', "merge.carry = false")
    assert [ended.code for ended in try_job(tmp_path, files, "merge.carry=false")] == [0, 0]


def test_trees_beside_events_that_differ_can_be_left_out(tmp_path: Path) -> None:
    files = files_with(tmp_path, {"runs": ["a", "b"]}, {"runs": ["a"]})
    check_refused(tmp_path, files, '1.root: tree "Runs"', "it lacks b", "merge.carry = false")
    assert [ended.code for ended in try_job(tmp_path, files, "merge.carry=false")] == [0, 0]


@pytest.mark.slow
def test_what_is_alike_or_can_be_joined_is_carried(tmp_path: Path) -> None:
    same = {"tag": "v1", "map": "m", "bins": [300, 0, 300]}
    files = files_with(tmp_path, {**same, "runs": ["a", "b"]}, {**same, "runs": ["b", "a"]})
    assert [ended.code for ended in try_job(tmp_path, files)] == [0, 0]
    with uproot.open(tmp_path / "run/output/all.root") as file:
        assert str(file["tag"]) == "v1"
        assert file["h"].values()[[0, 100]].tolist() == [1, 1]
        assert file["Runs"]["a"].array().tolist() == file["Runs"]["b"].array().tolist() == [1, 1]


def test_counters_of_other_types_can_be_left_out_as_columns(tmp_path: Path) -> None:
    files = [str(tmp_path / "v9.root"), str(tmp_path / "v12.root")]
    call_root(write_counts, files[0], 0, "i")
    call_root(write_counts, files[1], 100, "I")
    check_refused(tmp_path, files, 'branch "nJet" is int32', 'source.branches = "common"')
    ended = try_job(tmp_path, files, 'source.branches="common"')
    assert [e.code for e in ended] == [0, 0], ended
    with uproot.open(tmp_path / "run/output/all.root") as file:
        assert file["Events"]["nJet"].array().tolist() == [e % 3 for e in range(10)] * 2
        assert file["Events"]["Jet_pt"].array()[[1, 2, 11, 12]].tolist() == [
            [1], [2, 3], [101], [102, 103],
        ]  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"recluster": "never"}, {"compression": "lz4:4"}])
def test_a_merge_takes_branches_in_another_order(tmp_path: Path, options: dict[str, str]) -> None:
    names = [["a", "bb", "ccc"], ["ccc", "a", "bb"], ["a", "bb", "ccc"]]
    files = files_with(tmp_path, *({"runs": of_file} for of_file in names))
    out = tmp_path / "out.root"
    merged = merge_files(files, out, verify=True, **options)  # type: ignore[arg-type]
    assert merged == {"Events": 30, "Runs": 3}
    with uproot.open(out) as file:
        runs = file["Runs"]
        assert runs.keys() == names[0]
        assert {name: runs[name].array().tolist() for name in names[0]} == {
            "a": [1, 1, 1], "bb": [2, 2, 2], "ccc": [3, 3, 3],
        }  # fmt: skip
