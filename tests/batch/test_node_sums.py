"""Histograms and accumulators that nodes have added up."""

from __future__ import annotations

from pathlib import Path

import pytest

from forkrun.merge.node_outputs import files_to_add, sums_to_merge
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit
from forkrun.rundir.nodes import NodeRanges, read_commits
from forkrun.rundir.packing import unpack_units
from tests.batch.jobs import Job, problem_of
from tests.support.jobs import forkrun


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return Job.make(tmp_path_factory.mktemp("job"), n_lumis=20)


@pytest.fixture
def done(job: Job, request: pytest.FixtureRequest) -> RunDirectory:
    """Both nodes are done, and nothing was collected."""
    run = job.folder / request.node.name.partition("[")[0]
    most = ("--set", "forking.max_unit_events=20", "--set", "threads.block_size=20")
    assert job.submit(run, "--nodes", 2, "--dry-run", *most).code == 0
    for number in (0, 1):
        assert forkrun("node", run, number, "-q", cwd=job.folder).code == 0
    return RunDirectory(run)


def _ordered(folder: RunDirectory) -> list[Commit]:
    return sorted(read_commits(folder), key=lambda commit: commit.unit)


def _files(folder: RunDirectory, commits: list[Commit]) -> list[list[str]]:
    """Of histograms and of accumulators, those that are added up."""
    return [
        [str(file.relative_to(folder.path)) for file in files_to_add(folder.path, sums)]
        for sums in sums_to_merge(folder, commits)
    ]


def test_commits_do_not_depend_on_how_many_ledgers_are_read_at_once(
    done: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = read_commits(done)
    n_units = NodeRanges.read(done).first_unit[-1]
    assert [unit for commit in _ordered(done) for unit in commit.units] == list(range(n_units))
    monkeypatch.setattr("forkrun.rundir.nodes._READ_AT_ONCE", 1)
    assert read_commits(done) == together


@pytest.mark.slow
def test_a_merge_reads_one_sum_of_each_node(job: Job, done: RunDirectory) -> None:
    assert _files(done, _ordered(done)) == [
        [f"nodes/000{n}/sums/{name}" for n in (0, 1)]
        for name in ("histograms.bin", "accumulators.json")
    ]
    assert forkrun("collect", done.path, "-q", cwd=job.folder).code == 0
    assert problem_of(done.path, job.truth) == ""


@pytest.mark.slow
def test_sums_that_are_damaged_or_of_other_commits_are_not_used(
    job: Job, done: RunDirectory
) -> None:
    damaged = done.node(1).sums / "accumulators.json"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    for number in (0, 1):
        unpack_units(done.node(number))
    ordered = _ordered(done)
    of_second = [c for c in ordered if c.outputs["all"].file.startswith("nodes/0001")]
    histograms, accumulators = _files(done, ordered)
    assert histograms == [f"nodes/000{n}/sums/histograms.bin" for n in (0, 1)]
    assert accumulators[0] == "nodes/0000/sums/accumulators.json"
    assert accumulators[1:] == [c.accumulators.file for c in of_second if c.accumulators]
    histograms, _ = _files(done, ordered[1:])
    assert Path(histograms[0]).parts[2] == "units"
    assert forkrun("collect", done.path, "-q", cwd=job.folder).code == 0
    assert problem_of(done.path, job.truth) == ""
