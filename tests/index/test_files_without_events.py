"""Files without events, as NanoAOD and RDataFrame leave them, beside others; and files without a
UUID."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import struct
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import uproot

from forkrun.config.source import IdBranches
from forkrun.index.read import index_files
from forkrun.merge import merge_files
from tests.server.root_program import call_root
from tests.support.jobs import Ended, forkrun, write_job

IDS = ("run", "luminosityBlock", "event")
KINDS = ("fewer", "no branch", "no tree")


def write(path: str, kind: str, n_events: int, first: int) -> None:
    """`kind`: "full", or what a file without events lacks; each has a row of Runs."""
    import ROOT

    file = ROOT.TFile(path, "recreate")
    columns: dict[str, array[Any]] = {name: array("I", [1]) for name in IDS[:2]}
    columns |= {"event": array("Q", [0]), "x": array("f", [0])}
    wanted = {"full": [*IDS, "x"], "fewer": IDS, "no branch": (), "no tree": None}[kind]
    if wanted is not None:
        tree = ROOT.TTree("Events", "")
        for name in wanted:
            leaf = {"event": "l", "x": "F"}.get(name, "i")
            tree.Branch(name, columns[name], f"{name}/{leaf}")
        for event in range(first, first + n_events):
            columns["event"][0], columns["x"][0] = event, event
            tree.Fill()
        tree.Write()
    runs = ROOT.TTree("Runs", "")
    runs.Branch("first", columns["event"], "first/l")
    columns["event"][0] = first
    runs.Fill()
    runs.Write()
    file.Close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("empty")
    for name, kind, n, first in (
        ("full", "full", 30, 0),
        ("full2", "full", 30, 100),
        ("none", "full", 0, 200),
        *((kind, kind, 0, 300 + n) for n, kind in enumerate(KINDS)),
    ):
        call_root(write, str(folder / f"{name}.root"), kind, n, first)
    return folder


def job(folder: Path, files: Sequence[Path], *words: object, **sections: Any) -> Ended:
    source = {"files": [str(file) for file in files], **sections.pop("source", {})}
    described = {"source": source, "outputs": [{"label": "events"}], **sections}
    return forkrun(words[0], write_job(folder, described), *words[1:], cwd=folder)


def values(file: Path, tree: str = "Events", branch: str = "x") -> list[float]:
    with uproot.open(file) as opened:
        return list(opened[tree][branch].array(library="np"))


FULL = [*map(float, range(30))]
FULL2 = [*map(float, range(100, 130))]


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("kind", [*KINDS, "none"])
@pytest.mark.parametrize(
    "place", [pytest.param(0, marks=pytest.mark.slow), 1, pytest.param(2, marks=pytest.mark.slow)]
)
def test_they_add_nothing_wherever_they_stand(
    folder: Path, tmp_path: Path, kind: str, place: int
) -> None:
    files = [folder / "full.root", folder / "full2.root"]
    files.insert(place, empty := folder / f"{kind}.root")
    checked = job(tmp_path, files, "check")
    assert checked.code == 0, checked.err
    assert f"no events in {empty}" in checked.out
    warning = f'{empty}: no tree "Events"; its trees are: Runs; other files have it'
    assert (warning in checked.err) == (kind == "no tree")
    assert f"no events in {empty}" in job(tmp_path, files, "plan").err
    ended = job(tmp_path, files, "run", "-o", "run", forking={"children": place})
    assert ended.code == 0, ended.err
    assert values(tmp_path / "run/output/events.root") == FULL + FULL2
    rows = {"full": 0, "full2": 100, "none": 200} | {k: 300 + n for n, k in enumerate(KINDS)}
    own = [float(rows[file.stem]) for file in files]
    assert values(tmp_path / "run/output/events.root", "Runs", "first") == own
    assert (tmp_path / "run/report.txt").read_text().count("no events in") == 1
    notes: list[str] = []
    merge_files(files, tmp_path / "out.root", note=notes.append)
    assert values(tmp_path / "out.root") == FULL + FULL2
    assert values(tmp_path / "out.root", "Runs", "first") == own
    named = f"Events: no entries in {empty}" in notes
    assert named == (kind in ("fewer", "no branch"))
    for rule in ("common", {"fill": {"*": 0}}):
        again = job(tmp_path, files, "run", "-o", "r", "-q", "--force", source={"branches": rule})
        assert again.code == 0, again.err
        assert values(tmp_path / "r/output/events.root") == FULL + FULL2


@pytest.mark.slow
def test_all_of_them_together_give_outputs_without_entries(folder: Path, tmp_path: Path) -> None:
    for kinds in itertools.permutations(("fewer", "no tree", "none")):
        files = [folder / f"{kind}.root" for kind in kinds]
        ended = job(tmp_path, files, "run", "-o", "run", "-q", "--force")
        assert ended.code == 0, ended.err
        with uproot.open(tmp_path / "run/output/events.root") as output:
            assert output["Events"].num_entries == 0
            assert set(IDS) <= set(output["Events"].keys())
    ended = job(tmp_path, [folder / "no branch.root"], "check")
    assert ended.code == 2
    assert "the input has no events, and its trees no branches" in ended.err
    ended = job(tmp_path, [folder / "no tree.root"], "check")
    assert ended.code == 3
    assert 'no tree "Events"; its trees are: Runs; name the tree of events' in ended.err
    for kind in ("fewer", "no branch"):
        path = folder / f"{kind}.root"
        assert merge_files([path, path], tmp_path / "out.root", force=True) == {
            "Events": 0,
            "Runs": 2,
        }


def test_friends_of_files_without_events_may_have_none(folder: Path, tmp_path: Path) -> None:
    files = [folder / f"{name}.root" for name in ("no branch", "full", "no tree", "full2")]
    friend = {"tree": "Events", "files": list(map(str, files)), "prefix": "f_"}
    output = {"label": "events", "keep": ["*", "f_x"]}
    ended = job(
        tmp_path, files, "run", "-o", "run", "-q", source={"friends": [friend]}, outputs=[output]
    )
    assert ended.code == 0, ended.err
    assert values(tmp_path / "run/output/events.root", branch="f_x") == FULL + FULL2


def test_datasets_may_have_files_without_events(folder: Path, tmp_path: Path) -> None:
    datasets = [
        {"name": name, "files": [str(folder / f"{file}.root") for file in files]}
        for name, files in (("a", ("no tree", "full")), ("b", ("fewer",)), ("c", ("full2",)))
    ]
    config = {"datasets": datasets, "outputs": [{"label": "events"}]}
    ended = forkrun("run", write_job(tmp_path, config), "-o", "run", "-q", cwd=tmp_path)
    assert ended.code == 0, ended.err
    files = sorted((tmp_path / "run/output").rglob("*.root"))
    found = [value for file in files for value in values(file)]
    assert sorted(found) == FULL + FULL2


def without_uuid(path: Path, into: Path) -> Path:
    """The same file as g4tools and old versions of ROOT write it: the first version of directories
    has no UUID, so that ROOT makes up one each time."""
    content = bytearray(path.read_bytes())
    (begin,) = struct.unpack(">i", content[8:12])
    (n_name,) = struct.unpack(">i", content[28:32])
    at = begin + n_name
    assert content[at : at + 2] == struct.pack(">h", 5)
    content[at : at + 2] = struct.pack(">h", 1)
    into.write_bytes(content)
    return into


def test_a_file_without_uuid_is_known_by_what_it_says(folder: Path, tmp_path: Path) -> None:
    files = [
        without_uuid(folder / f"{name}.root", tmp_path / f"{name}.root")
        for name in ("full", "full2")
    ]
    ended = job(tmp_path, files, "run", "-o", "run", "-q", forking={"children": 2})
    assert (ended.code, ended.err) == (0, "")
    assert values(tmp_path / "run/output/events.root") == FULL + FULL2
    first, again = (index_files(list(map(str, files)), IdBranches("Events", *IDS)) for _ in "12")
    assert [file.uuid for file in first] == [file.uuid for file in again]
    assert len({file.uuid for file in first}) == 2
    copy = Path(shutil.copy(files[0], tmp_path / "copy.root"))
    ended = job(tmp_path, [*files, copy], "check")
    assert ended.code == 3
    assert f"{copy}: is the same file as {files[0]}" in ended.err
    merge_files(files, tmp_path / "out.root")
    assert values(tmp_path / "out.root") == FULL + FULL2


def test_a_file_without_uuid_that_was_written_again_is_another(
    folder: Path, tmp_path: Path
) -> None:
    file = without_uuid(folder / "full.root", tmp_path / "a.root")
    assert job(tmp_path, [file], "run", "-o", "run", "-q", "--no-merge").code == 0
    before = file.stat()
    without_uuid(folder / "full2.root", file)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    ended = job(tmp_path, [file], "run", "-o", "run", "-q")
    assert ended.code == 4
    assert "a.root" in ended.err
    assert json.loads((tmp_path / "run/plan.json").read_text())["n_events"] == 30
