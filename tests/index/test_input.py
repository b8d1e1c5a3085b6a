"""Input of every sort: which is processed, and the messages about the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import uproot

from forkrun.config.source import IdBranches, SourceConfig
from forkrun.errors import InputError
from forkrun.index.files import input_files, input_files_or_gaps
from forkrun.index.model import FileIndex
from forkrun.index.read import IndexCache, index_files
from forkrun.plan.model import Plan
from tests.support.files import write_events
from tests.support.jobs import Ended, forkrun, jets_job, write_job

IDS = IdBranches("Events", "run", "luminosityBlock", "event")
NO_IDS = {"run_branch": "", "lumi_branch": "", "event_branch": ""}


def run(folder: Path, files: list[Path], **sections: Any) -> Ended:
    job = write_job(folder, jets_job(files, **sections))
    return forkrun("run", job, "-o", "run", "-q", cwd=folder)


def merged(folder: Path, branch: str = "event") -> list[Any]:
    with uproot.open(folder / "run/output/events.root") as file:
        return list(file["Events"][branch].array(library="np"))


def selected(events: range) -> list[int]:
    """Events of `files.write_events` with at least two jets above 30 GeV."""
    pts = {n: [10 * (jet + 1) + n % 7 for jet in range(n % 5)] for n in events}
    return [n for n in events if sum(pt > 30 for pt in pts[n]) >= 2]


def test_files_are_read_in_the_order_named_and_a_lumi_in_two_files_is_one(tmp_path: Path) -> None:
    a = write_events(tmp_path / "a.root", [(1, 1, 30), (1, 3, 10)])
    b = write_events(tmp_path / "b.root", [(1, 3, 25), (2, 1, 40)], first_event=100)
    ended = run(tmp_path, [b, a], forking={"children": 2, "distribution": "lumi"})
    assert (ended.code, ended.err) == (0, "")
    in_3 = selected(range(100, 125)) + selected(range(31, 41))
    assert merged(tmp_path) == in_3 + selected(range(125, 165)) + selected(range(1, 31))
    plan = Plan.from_json(json.loads((tmp_path / "run/plan.json").read_text()))
    assert [(unit.run, unit.lumi, unit.n_events) for unit in plan.units] == [
        (1, 3, 35),
        (2, 1, 40),
        (1, 1, 30),
    ]


def test_a_path_may_look_like_a_url(tmp_path: Path) -> None:
    folder = tmp_path / "run #1, really?a=b"
    folder.mkdir()
    file = write_events(folder / "a #1?.root", [(1, 1, 30)])
    ended = run(folder, [file])
    assert (ended.code, ended.err) == (0, "")
    output = folder / "run/output/events.root"
    with output.open("rb") as bytes_of_file, uproot.open(bytes_of_file) as opened:
        assert list(opened["Events"]["event"].array()) == selected(range(1, 31))


@pytest.mark.parametrize("children", [0, 2])
def test_an_empty_selection_gives_outputs_with_all_branches(tmp_path: Path, children: int) -> None:
    file = write_events(tmp_path / "a.root", [(1, 1, 30), (1, 2, 10)])
    ended = run(tmp_path, [file], source={"max_events": 0}, forking={"children": children})
    assert (ended.code, ended.err) == (0, "")
    with uproot.open(tmp_path / "run/output/events.root") as output:
        assert output["Events"].num_entries == 0
        assert {"run", "event", "nJet", "Jet_pt", "HT", "HardJet_pt"} <= set(
            output["Events"].keys()
        )


def test_a_filter_that_accepts_nothing_gives_outputs_with_all_branches(tmp_path: Path) -> None:
    file = write_events(tmp_path / "a.root", [(1, 1, 30), (1, 2, 10)])
    job = jets_job([file])
    job["modules"][0]["params"] = {"n": 9}
    assert forkrun("run", write_job(tmp_path, job), "-o", "run", "-q", cwd=tmp_path).code == 0
    assert merged(tmp_path) == []


def test_a_file_without_events_does_no_harm(tmp_path: Path) -> None:
    empty = write_events(tmp_path / "empty.root", [])
    file = write_events(tmp_path / "a.root", [(1, 1, 30)])
    assert run(tmp_path, [empty, file]).code == 0
    assert merged(tmp_path) == selected(range(1, 31))


def test_only_files_without_events_give_empty_outputs(tmp_path: Path) -> None:
    assert run(tmp_path, [write_events(tmp_path / "empty.root", [])]).code == 0
    assert merged(tmp_path) == []


def test_without_a_lumi_branch_the_message_says_how_to_run(tmp_path: Path) -> None:
    file = write_events(tmp_path / "a.root", [(1, 1, 30)], without=["luminosityBlock"])
    ended = run(tmp_path, [file])
    assert ended.code == 3
    assert 'has no branch "luminosityBlock"' in ended.err
    assert 'set all three to ""' in ended.err
    assert not (tmp_path / "run").exists()
    assert run(tmp_path, [file], source=NO_IDS).code == 0
    assert merged(tmp_path) == selected(range(1, 31))


def test_all_bad_files_are_named_in_one_message(tmp_path: Path) -> None:
    good = write_events(tmp_path / "good.root", [(1, 1, 30)])
    truncated = tmp_path / "truncated.root"
    truncated.write_bytes(good.read_bytes()[:-1000])
    text = tmp_path / "text.root"
    text.write_text("not ROOT")
    ended = run(tmp_path, [good, truncated, text])
    assert ended.code == 3
    assert f"{truncated}: " in ended.err
    assert "truncated" in ended.err
    assert f"{text}: " in ended.err
    assert str(good) not in ended.err


def test_a_missing_tree_is_said_with_those_there_are(tmp_path: Path) -> None:
    ended = run(tmp_path, [write_events(tmp_path / "a.root", [(1, 1, 3)])], source={"tree": "Evts"})
    assert ended.code == 3
    assert 'no tree "Evts"' in ended.err
    assert "Events" in ended.err


def test_the_lumi_mask_selects(tmp_path: Path) -> None:
    file = write_events(tmp_path / "a.root", [(1, 1, 30), (1, 2, 20), (2, 1, 10)])
    (tmp_path / "good.json").write_text('{"1": [[2, 9]], "2": [[1, 1]]}')
    assert run(tmp_path, [file], source={"lumi_mask": "good.json"}).code == 0
    assert merged(tmp_path) == selected(range(31, 61))


@pytest.mark.slow
def test_real_files_of_different_runs_say_what_differs_and_run_with_what_they_share(
    real_data: Path, tmp_path: Path
) -> None:
    files = [real_data / "nano_dy.root", real_data / "nano_dimuon.root"]
    ended = run(tmp_path, files, merge={"carry": False})
    assert ended.code == 3
    assert f"{files[1]}: this file lacks branches " in ended.err
    assert 'source.branches = "common"' in ended.err
    keep = ["run", "luminosityBlock", "event", "Muon_*", "nMuon", "MET_pt", "HT"]
    output = {"label": "events", "keep": keep, "drop": ["Muon_gen*"]}
    ended = run(tmp_path, files, outputs=[output], merge={"carry": False})
    assert (ended.code, ended.err) == (0, "")
    assert merged(tmp_path, "run") == [1] * 40 + [315267] * 40
    for branch in ("event", "MET_pt"):
        parts = [uproot.open(file)["Events"][branch].array(library="np") for file in files]
        assert merged(tmp_path, branch) == [value for part in parts for value in part]


@pytest.mark.slow
def test_other_trees_of_the_input_are_carried_once(real_data: Path, tmp_path: Path) -> None:
    file = real_data / "nano_dy.root"
    ended = run(tmp_path, [file], forking={"children": 3, "distribution": "contiguous"})
    assert (ended.code, ended.err) == (0, "")
    with uproot.open(tmp_path / "run/output/events.root") as out, uproot.open(file) as source:
        assert out["Runs"].num_entries == source["Runs"].num_entries == 1
        assert out["Runs"].keys() == source["Runs"].keys()


# --- which files ---------------------------------------------------------------------------------


def test_globs_are_sorted_and_lists_may_have_comments(tmp_path: Path) -> None:
    for name in ("b.root", "a.root", "c.root"):
        (tmp_path / name).touch()
    (tmp_path / "list.txt").write_text("c.root  # the last\n# nothing\n\nroot://h//x.root\n")
    source = SourceConfig(files=(f"{tmp_path}/[ab].root",), list=f"{tmp_path}/list.txt")
    names = ["a.root", "b.root", "c.root"]
    assert input_files(source) == [*(f"{tmp_path}/{name}" for name in names), "root://h//x.root"]


def test_missing_files_are_all_named(tmp_path: Path) -> None:
    (tmp_path / "a.root").touch()
    files = [f"{tmp_path}/{name}" for name in ("a.root", "a.root", "none.root", "*.rot", "")]
    with pytest.raises(InputError) as caught:
        input_files(SourceConfig(files=tuple(files)))
    remedy = "correct source.files, source.list, or the command line"
    assert str(caught.value).splitlines() == [
        f'{tmp_path}/none.root: file not found; did you mean "a.root"? {remedy}',
        f"{tmp_path}/*.rot: no file matches this pattern; {remedy}",
        f"{tmp_path}/: this is a folder; for its files write {tmp_path}//*.root",
        f"{tmp_path}/a.root: named 2 times",
    ]


def test_a_missing_file_is_named_once_and_left_out_whatever_its_name(tmp_path: Path) -> None:
    good = write_events(tmp_path / "good.root", [(1, 1, 10)])
    files = [str(good), str(tmp_path / "run 7: late.root")]
    assert input_files_or_gaps(SourceConfig(files=tuple(files))) == files
    job = write_job(tmp_path, jets_job([Path(file) for file in files]))
    ended = forkrun("check", job, cwd=tmp_path)
    assert (ended.code, ended.err.count("run 7: late.root")) == (3, 1), ended.err


def test_no_input_at_all_is_an_error() -> None:
    with pytest.raises(InputError, match="no input: name files"):
        input_files(SourceConfig())


# --- the cache of indexes ------------------------------------------------------------------------


def test_an_index_is_kept_until_the_file_changes(tmp_path: Path) -> None:
    cache = IndexCache(tmp_path / "cache")
    file = write_events(tmp_path / "a.root", [(1, 1, 30)])
    first = index_files([str(file)], IDS, cache)
    request = {**IDS._asdict(), "path": str(file), "file_number": 0}
    kept = cache.find(request)
    assert kept is not None
    cache.keep(request, kept | {"uuid": "from the cache"})
    assert index_files([str(file)], IDS, cache)[0].uuid == "from the cache"
    write_events(tmp_path / "a.root", [(1, 1, 31)])
    again = index_files([str(file)], IDS, cache)
    assert (first[0].n_entries, again[0].n_entries) == (30, 31)
    assert index_files([str(file)], IDS, cache) == again


@pytest.mark.parametrize("damage", ["half", "zeros", "empty", "another"])
def test_a_damaged_cache_is_read_anew(tmp_path: Path, damage: str) -> None:
    """So it is after a failure of the machine: indexes are not synced."""
    cache = IndexCache(tmp_path / "cache")
    file = str(write_events(tmp_path / "a.root", [(1, 1, 30)]))
    first = index_files([file], IDS, cache)
    (kept,) = (tmp_path / "cache").glob("*/*.msgpack")
    data = kept.read_bytes()
    half = data[: len(data) // 2]
    others = {"half": half, "zeros": half.ljust(len(data), b"\0"), "empty": b"", "another": b"{"}
    kept.write_bytes(others[damage])
    assert index_files([file], IDS, cache) == first
    assert kept.read_bytes() == data


def test_other_branch_names_are_another_index(tmp_path: Path) -> None:
    cache = IndexCache(tmp_path / "cache")
    file = str(write_events(tmp_path / "a.root", [(1, 5, 30)]))
    assert _lumis(index_files([file], IDS, cache)) == [(1, 5)]
    no_ids = IdBranches("Events", "", "", "")
    assert _lumis(index_files([file], no_ids, cache)) == [(1, 1)]
    other = str(write_events(tmp_path / "b.root", [(1, 5, 30)]))
    assert _lumis(index_files([other, file], no_ids, cache)) == [(1, 1), (1, 2)]


def _lumis(index: list[FileIndex]) -> list[tuple[int, int]]:
    return [(r.run, r.lumi) for file in index for r in file.ranges]


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    file = str(write_events(tmp_path / "a.root", [(1, 5, 30)]))
    assert index_files([file], IDS, IndexCache(tmp_path / "file"))[0].n_entries == 30
    assert index_files([file], IDS, IndexCache(None))[0].n_entries == 30


def test_many_files_are_indexed_in_their_order(tmp_path: Path) -> None:
    files = [str(write_events(tmp_path / f"{n}.root", [(1, n + 1, n + 1)])) for n in range(13)]
    index = index_files(files, IDS, IndexCache(None))
    assert [(file.path, file.n_entries) for file in index] == [
        (file, n + 1) for n, file in enumerate(files)
    ]
