"""Files above 2,000,000,000 bytes, from where on ROOT writes places with 8 bytes: all that writes,
and all that reads what was written. Most of them begin with a hole, which takes no room on the
disk; the long test fills its files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

from forkrun import _core
from forkrun.merge import merge_files
from tests.support.files import write_events
from tests.support.jobs import forkrun_after, jets_job, sha256, write_job
from tests.support.object_file import contents, hadd, write_objects
from tests.support.opened_by_root import open_with_root

pytestmark = pytest.mark.slow
LIMIT = 2_000_000_000


@pytest.fixture
def hole() -> Iterator[Any]:
    """Sets how many bytes new files leave at their begin."""
    yield _core.leave_hole_in_new_files
    _core.leave_hole_in_new_files(0)


def command(hole: int, *arguments: object, cwd: Path) -> None:
    before = ("forkrun._core", "leave_hole_in_new_files", [hole])
    ended = forkrun_after(before, *arguments, cwd=cwd)
    assert ended.code == 0, ended.err


def write_trees(path: Path, kind: str = "float32[]") -> Path:
    """Three trees, one added after the other: by ROOT if `kind` is of nested lists."""
    write_events(path, [(1, 1, 20), (1, 2, 10)])
    flat = np.arange(5, dtype=np.float32)
    nested = (np.array([0, 1, 3]), np.array([0, 2, 4, 5]), flat)
    for tree in ("Runs", "Lumis"):
        writer = _core.TreeWriter(str(path), tree, [("x", kind)], "zstd:1", append_tree=True)
        writer.write({"x": nested if kind.endswith("[][]") else (np.array([0, 2, 5]), flat)})
        writer.close()
    return path


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("kind", ["float32[]", "float32[][]"])
def test_a_file_may_pass_the_limit_at_any_of_its_records(
    tmp_path: Path, hole: Any, kind: str
) -> None:
    n_bytes = write_trees(tmp_path / "small.root", kind).stat().st_size
    files = []
    for n_before in range(0, n_bytes + 150, 41):
        hole(LIMIT - n_before)
        files.append(write_trees(tmp_path / f"{n_before}.root", kind))
    found = open_with_root([tmp_path / "small.root", *files])
    assert found == [found[0]] * len(found)
    assert found[0].keys() == {"Events", "Runs", "Lumis"}
    hole(LIMIT)
    merged = tmp_path / "merged.root"
    n = len(files)
    assert merge_files(files, merged) == {"Events": 30 * n, "Lumis": 2 * n, "Runs": 2 * n}
    assert open_with_root([merged])[0]["Events"][0] == 30 * n
    with uproot.open(merged) as file:
        assert file["Runs"]["x"].array().tolist()[-2:] == uproot_lists(kind)


def uproot_lists(kind: str) -> list[Any]:
    return [[[0, 1]], [[2, 3], [4]]] if kind.endswith("[][]") else [[0, 1], [2, 3, 4]]


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], dict[str, Any]]:
    """Two files, and what hadd makes of them."""
    folder = tmp_path_factory.mktemp("objects")
    inputs = [write_objects(folder / f"{i}.root", i) for i in range(2)]
    hadd(folder / "hadd.root", inputs)
    return inputs, contents(folder / "hadd.root")


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("n_bytes", [LIMIT - 3000, LIMIT, 4_300_000_000])
def test_objects_are_joined_in_files_above_the_limit(
    tmp_path: Path, hole: Any, objects: tuple[list[str], dict[str, Any]], n_bytes: int
) -> None:
    inputs, expected = objects
    once, twice = (tmp_path / f"{name}.root" for name in ("once", "twice"))
    hole(n_bytes)
    merge_files(inputs, once)
    merge_files([once], twice)
    assert contents(once) == contents(twice) == expected
    open_with_root([once, twice])


def job(folder: Path, sample: Path, friend: Path) -> Path:
    """All kinds of outputs; the Runs and LuminosityBlocks of the sample are carried to each."""
    made = jets_job([sample])
    made["source"]["friends"] = [{"files": [str(friend)], "tree": "Friend"}]
    made["modules"].append({"label": "more", "type": "expression:twice + 1", "kind": "producer"})
    made["outputs"] = [
        {"label": "skim", "paths": ["skim"]},
        {"label": "all", "keep": ["*", "twice"]},
        {"label": "lz4", "compression": "lz4:4"},
        {"label": "new", "mode": "friend"},
        {"label": "lumis", "paths": ["skim"], "per_lumi": True},
        {"label": "ntuple", "format": "rntuple", "keep": ["*", "twice"]},
    ]
    return write_job(folder, made)


def write_friend(path: Path, n_events: int) -> Path:
    writer = _core.TreeWriter(str(path), "Friend", [("twice", "float64")], "zstd:1")
    writer.write({"twice": np.arange(n_events) * 2.0})
    writer.close()
    return path


def chain(folder: Path, hole: int, *shape: object, n_events: int) -> list[Path]:
    """A sample, what a job makes of it, a job over that, and merges of what they made."""
    folder.mkdir()
    sample, run = folder / "sample.root", folder / "run"
    command(hole, "sample", sample, "-q", "--events", n_events, *shape, cwd=folder)
    config = job(folder, sample, write_friend(folder / "friend.root", n_events))
    command(hole, "run", config, "-o", run, "--no-plots", "--children", 2, cwd=folder)
    copy = {"source": {"files": [str(run / "output/skim.root")]}, "outputs": [{"label": "events"}]}
    again = write_job(folder, copy)
    command(hole, "run", again, "-o", folder / "again", "--no-plots", cwd=folder)
    skims = [run / "output/skim.root", folder / "again/output/events.root"]
    merges: dict[str, list[object]] = {
        "joined": [*skims],
        "reclustered": ["--recluster", "always", *skims],
        "recompressed": ["--compression", "zlib:1", run / "output/all.root"],
        "histograms": [run / "output/histograms.root"],
        "ntuples": [run / "output/ntuple.root", run / "output/ntuple.root"],
        "trees": ["--format", "ttree", run / "output/ntuple.root"],
    }
    for name, given in merges.items():
        command(hole, "merge", folder / f"{name}.root", "--verify", *given, cwd=folder)
    return sorted(folder.rglob("*.root"))


SHAPE = ("--lumis", 3, "--cluster", 100)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], list[Any]]:
    folder = tmp_path_factory.mktemp("small") / "chain"
    files = chain(folder, 0, *SHAPE, n_events=600)
    return [str(file.relative_to(folder)) for file in files], open_with_root(files)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("n_bytes", [LIMIT - 30_000, 4_300_000_000])
def test_each_step_reads_and_writes_files_above_the_limit(
    tmp_path: Path, small: tuple[list[str], list[Any]], n_bytes: int
) -> None:
    folder = tmp_path / "chain"
    files = chain(folder, n_bytes, *SHAPE, n_events=600)
    written = [file for file in files if file.name != "friend.root"]
    assert all(file.stat().st_size > n_bytes for file in written)
    assert [str(file.relative_to(folder)) for file in files] == small[0]
    assert open_with_root(files) == small[1]


N_EVENTS = 2_800_000


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_files_that_are_full_are_made_by_a_job_by_nodes_and_by_merges(tmp_path: Path) -> None:
    sample, merged = tmp_path / "sample.root", tmp_path / "merged.root"
    shape = ("--events", N_EVENTS, "--runs", 5, "--lumis", 200, "--cluster", 20_000)
    command(0, "sample", sample, "-q", *shape, "--compression", "none", cwd=tmp_path)
    source = {"files": [str(sample)]}
    outputs = [{"label": "all"}, {"label": "skim", "paths": ["skim"]}]
    job = write_job(tmp_path, jets_job([sample], source=source, outputs=outputs))
    one, nodes = tmp_path / "one", tmp_path / "nodes"
    command(0, "run", job, "-o", one, "--no-plots", "--children", 2, cwd=tmp_path)
    every = one / "output/all.root"
    assert_complete([sample, every], LIMIT, N_EVENTS, n_runs=5)
    expected = sha256(every)
    command(0, "merge", merged, "--trees", "Events", "--verify", every, every, cwd=tmp_path)
    assert_complete([merged], 2 * LIMIT, 2 * N_EVENTS)
    rewritten = tmp_path / "rewritten.root"
    anew = ("--recluster", "always", "--compression", "none")
    command(0, "merge", rewritten, *anew, merged, cwd=tmp_path)
    assert_complete([rewritten], 2 * LIMIT, 2 * N_EVENTS)
    for file in (every, merged, rewritten):
        file.unlink()
    command(0, "submit", job, "--on", "local", "-o", nodes, "--nodes", 2, "--dry-run", cwd=tmp_path)
    for number in range(2):
        command(0, "node", nodes, number, "-q", cwd=tmp_path)
    command(0, "collect", nodes, cwd=tmp_path)
    assert sha256(nodes / "output/all.root") == expected
    for file in tmp_path.rglob("*.root"):
        file.unlink()


def assert_complete(files: list[Path], n_bytes: int, n_events: int, n_runs: int = 0) -> None:
    for file, contents_ in zip(files, open_with_root(files, step=9973), strict=True):
        assert file.stat().st_size > n_bytes
        assert contents_["Events"][0] == n_events
        assert not n_runs or contents_["Runs"][0] == n_runs
        with uproot.open(file) as opened:
            events = opened["Events"]["event"].array(library="np", entry_start=n_events - 3)
            assert len(events) == 3
