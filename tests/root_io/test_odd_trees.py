"""Sound trees that are written seldom: skimmed and merged as uproot or ROOT read them, or refused
by `check` before any event."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

from forkrun.merge import merge_files
from tests.server.root_program import call_root
from tests.support.jobs import Ended, forkrun, write_job
from tests.support.odd_trees import N_EVENTS, linked_titles, with_small_keys, write_odd_trees
from tests.support.opened_by_root import open_with_root
from tests.support.same_columns import differing_columns

pytestmark = pytest.mark.slow  # its file takes seconds to compile
NUMBERS = list(range(N_EVENTS))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("odd")
    write_odd_trees(path)
    with_small_keys(path / "numbers.root", path / "small.root", "number")
    with_small_keys(path / "links.root", path / "small_links.root", "number", "target", "link")
    return path


def run(
    command: str, tmp_path: Path, path: Path | list[Path], *modules: str, **output: Any
) -> Ended:
    """With a job that keeps all but what `output` says, of events that pass `modules`."""
    ids = dict.fromkeys(("run_branch", "lumi_branch", "event_branch"), "")
    paths = path if isinstance(path, list) else [path]
    filters = [
        {"label": f"f{i}", "type": f"expression:{text}", "kind": "filter"}
        for i, text in enumerate(modules)
    ]
    job = {
        "source": {"files": [str(each) for each in paths], **ids},
        "modules": filters,
        "paths": {"p": [each["label"] for each in filters]},
        "outputs": [{"label": "all", "paths": ["p"], **output}],
    }
    write_job(tmp_path, job)
    options = ["--children", 0, "-o", "run", "-q"] if command == "run" else []
    return forkrun(command, "job.json", *options, cwd=tmp_path)


def skim(tmp_path: Path, path: Path | list[Path], *modules: str, **output: Any) -> Path:
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    for command in ("check", "run"):
        ended = run(command, folder, path, *modules, **output)
        assert ended.code == 0, ended.err
    return folder / "run/output/all.root"


def merged(tmp_path: Path, path: Path, other: Path | None = None, **options: Any) -> Path:
    merge_files([path, other or path], tmp_path / "merged.root", **options)
    return tmp_path / "merged.root"


def refused(tmp_path: Path, path: Path | list[Path], **output: Any) -> str:
    """The message, the same of `check` and `run`."""
    checked, ended = (run(command, tmp_path, path, **output) for command in ("check", "run"))
    assert (checked.code, ended.code) == (3, 3)
    assert not (tmp_path / "run/ledger").exists()
    return checked.err


def members(path: Path) -> dict[str, list[Any]]:
    with uproot.open(path) as file:
        return {
            branch.name: branch.array().tolist()
            for branch in file["Events"].itervalues(recursive=True)
            if not branch.branches
        }


def test_bytes_of_classes_that_root_cannot_make_objects_of_are_copied(
    folder: Path, tmp_path: Path
) -> None:
    path = folder / "bits.root"
    assert differing_columns(path, skim(tmp_path, path), "Events") == []
    assert differing_columns(path, merged(tmp_path, path), "Events", times=2) == []
    odd = skim(tmp_path, path, "number % 2 == 1")
    with uproot.open(path) as before, uproot.open(odd) as after:
        bits = [branch["Events/bits"].array(library="np") for branch in (before, after)]
    assert [str(each) for each in bits[1]] == [str(each) for each in bits[0][1::2]]


def test_members_that_were_never_written_are_left_out_as_hadd_does(
    folder: Path, tmp_path: Path
) -> None:
    path = folder / "never.root"
    tracks: dict[str, list[Any]] = {
        "number": NUMBERS,
        "track.id": NUMBERS,
        "track.eta": [-1.0 * n for n in NUMBERS],
    }
    outputs = [skim(tmp_path, path), merged(tmp_path, path)]
    assert members(outputs[0]) == tracks
    assert members(outputs[1]) == {name: 2 * values for name, values in tracks.items()}
    opened = [contents["Events"][0] for contents in open_with_root(outputs)]
    assert opened == [N_EVENTS, 2 * N_EVENTS]


def test_objects_with_other_members_are_refused_before_any_event(
    folder: Path, tmp_path: Path
) -> None:
    path = folder / "always.root"
    paths = [path, folder / "never.root"]
    message = refused(tmp_path, paths)
    assert f'objects of branch "track." have other members than in {path}' in message
    assert members(skim(tmp_path, paths, drop=["track."]))["number"] == 2 * NUMBERS


def test_members_that_begin_late_are_refused_before_any_event(folder: Path, tmp_path: Path) -> None:
    path = folder / "late.root"
    message = refused(tmp_path, path)
    assert "branch track., which the job reads or keeps, has fewer entries" in message
    assert 'drop = ["track."]' in message
    assert members(skim(tmp_path, path, drop=["track."])) == {"number": NUMBERS}


@pytest.mark.parametrize("recluster", ["auto", "never"])
def test_baskets_with_keys_of_small_files_are_copied(
    folder: Path, tmp_path: Path, recluster: str
) -> None:
    path = folder / "small.root"
    outputs = [skim(tmp_path, path), merged(tmp_path, path, recluster=recluster)]
    assert [members(output)["number"] for output in outputs] == [NUMBERS, 2 * NUMBERS]
    opened = [contents["Events"] for contents in open_with_root(outputs)]
    assert opened == [[N_EVENTS, 4 * N_EVENTS], [2 * N_EVENTS, 8 * N_EVENTS]]


def test_a_list_of_keys_whose_own_key_has_another_size_and_place_is_read(
    folder: Path, tmp_path: Path
) -> None:
    """As go-hep has written it: ROOT goes by what the directory says."""
    content = bytearray((folder / "numbers.root").read_bytes())
    with uproot.open(folder / "numbers.root") as file:
        place = file.fSeekKeys
    n_key = int.from_bytes(content[place + 14 : place + 16], "big")
    content[place : place + 4] = (n_key + 4).to_bytes(4, "big")
    content[place + 18 : place + 22] = bytes(4)  # where it says that it is
    path = tmp_path / "keys.root"
    path.write_bytes(content)
    assert members(skim(tmp_path, path))["number"] == NUMBERS
    assert members(merged(tmp_path, path))["number"] == 2 * NUMBERS


@pytest.mark.parametrize("second", ["links", "small_links", "tables"])
@pytest.mark.parametrize("compression", [None, "zstd:3"])
def test_references_lead_to_their_objects_after_a_merge(
    folder: Path, tmp_path: Path, second: str, compression: str | None
) -> None:
    """Also of a merged file: numbers of processes are added to those of the file before."""
    first = "tables" if second == "tables" else "links"
    path = folder / f"{first}.root"
    once = merged(tmp_path, path, folder / f"{second}.root", compression=compression)
    once = once.rename(tmp_path / "once.root")
    for output, times in ((once, 2), (merged(tmp_path, path, once), 3)):
        assert call_root(linked_titles, str(output)) == [str(each) for each in times * NUMBERS]
        assert members(output)["number"] == times * NUMBERS


def test_references_lead_to_their_objects_after_a_skim(folder: Path, tmp_path: Path) -> None:
    output = skim(tmp_path, folder / "links.root", "number % 2 == 1")
    assert call_root(linked_titles, str(output)) == [str(each) for each in NUMBERS[1::2]]


@pytest.mark.parametrize("cuts", [[], ["number % 2 == 1"]])
def test_references_that_the_first_file_has_not_lead_to_their_objects_after_a_skim(
    folder: Path, tmp_path: Path, cuts: list[str]
) -> None:
    """In the output of other files these have other numbers: ROOT gives them anew."""
    paths = [folder / f"{name}.root" for name in ("no_lists", "lists", "more_lists")]
    with uproot.open(paths[0]) as file:
        assert "TProcessID" not in file.classnames().values()
    output = skim(tmp_path, paths, *cuts)
    kept = [str(n) for n in NUMBERS[1:] if not cuts or n % 2 == 1]
    assert call_root(linked_titles, str(output)) == 2 * kept
    report = json.loads((output.parents[1] / "report.json").read_text())
    assert report["events"]["outputs"][0]["written_anew"] == ["target", "links"]


def test_lists_whose_objects_root_would_leave_out_are_refused_before_any_event(
    folder: Path, tmp_path: Path
) -> None:
    path = folder / "strangers.root"
    assert 'objects of branch "list" cannot be written' in refused(tmp_path, path)
    assert members(skim(tmp_path, path, drop=["list"])) == {"number": NUMBERS}
    assert differing_columns(path, merged(tmp_path, path), "Events", times=2) == []


def test_an_object_of_an_unknown_class_beside_the_branches_is_no_damage(
    folder: Path, tmp_path: Path
) -> None:
    message = refused(tmp_path, folder / "beside.root")
    assert "has an object of class Stranger next to its branches" in message
    assert "damaged" not in message


def test_an_object_that_may_refer_to_others_is_refused_before_any_event(
    folder: Path, tmp_path: Path
) -> None:
    message = refused(tmp_path, folder / "referring.root")
    assert 'object "info" (Stranger) cannot be read: no library here knows its class' in message
    assert "merge.carry = false" in message


def test_trees_by_the_hundred_need_no_memory_each(tmp_path: Path) -> None:
    path = tmp_path / "many.root"
    with uproot.recreate(path) as file:
        for i in range(160):
            file.mktree(f"DF_{i}/tracks", {"x": "int64"}).extend({"x": np.array([i, i + 1])})
    ended = forkrun("merge", "out.root", path, path, cwd=tmp_path)
    assert ended.code == 0, ended.err
    with uproot.open(tmp_path / "out.root") as file:
        assert file["DF_159/tracks"]["x"].array().tolist() == [159, 160] * 2
