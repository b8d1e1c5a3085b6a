"""What a node gets when it is submitted again, and when it is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forkrun.batch.course import NodeJobs, note_submission
from forkrun.batch.status import State, read_status
from forkrun.batch.submit import Need, missing_needs
from forkrun.config.read import default_config
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.nodes import NodeRanges
from tests.batch.jobs import Job
from tests.batch.synthetic import write_run
from tests.support.jobs import forkrun

SETTINGS = [("batch.time", 100), ("batch.memory", 1000)]


def write_course(folder: RunDirectory, number: int, *codes: int | None, n_units: int = 9) -> None:
    """Parents that ended so, each with so many units committed before it began."""
    lines: list[dict[str, object]] = []
    for code in codes:
        lines.append({"event": "start", "time_s": 2e9, "n_units": n_units, "host": "h", "job": ""})
        lines += [] if code is None else [{"event": "end", "time_s": 2e9, "code": code}]
    place = folder.node_ends(number)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture
def folder(tmp_path: Path) -> RunDirectory:
    """Four nodes that were submitted once to a queue that has ended, none of them done."""
    write_run(tmp_path, 4, 10)
    made = RunDirectory(tmp_path)
    note_submission(made, NodeJobs(0, "local", "name", (0, 1, 2, 3), 100, 1000, 1e9, "host"))
    return made


def needs_of(folder: RunDirectory, retries: int = 3) -> tuple[dict[int, Need], str]:
    config = default_config([*SETTINGS, ("batch.retries", retries)])
    return missing_needs(folder, config, read_status(folder, NodeRanges.read(folder)))


def test_a_node_gets_more_of_what_it_lacked(folder: RunDirectory) -> None:
    write_course(folder, 0, 137)  # its parent was killed
    write_course(folder, 1, 9)  # out of time, with nothing committed
    write_course(folder, 2, 9, n_units=5)  # out of time, but it got on
    write_course(folder, 3, None)
    states = [node.state for node in read_status(folder, NodeRanges.read(folder)).nodes]
    early = State.ENDED_EARLY
    assert states == [State.FAILED, early, early, State.LOST]
    needs, problem = needs_of(folder)
    assert problem == ""
    assert needs == {0: (100, 1500), 1: (200, 1000), 2: (100, 1000), 3: (100, 1000)}


def test_a_batch_system_that_says_out_of_memory_is_believed(folder: RunDirectory) -> None:
    write_course(folder, 0, None)
    log = folder.batch_log(0)
    log.parent.mkdir()
    log.write_text("slurmstepd: error: Detected 1 oom_kill event in StepId=1.batch\n")
    assert needs_of(folder)[0][0] == (100, 1500)


def test_nodes_without_retries_are_named_and_the_others_submitted(folder: RunDirectory) -> None:
    write_course(folder, 0, 5)
    again = NodeJobs(1, "local", "again", (0,), 100, 1000, 1e9, "host")
    note_submission(folder, again)
    needs, problem = needs_of(folder, retries=1)
    assert sorted(needs) == [1, 2, 3]
    assert problem.startswith("nodes 0 have had all their retries (batch.retries = 1): ")


def test_a_submission_that_was_refused_is_no_try(folder: RunDirectory) -> None:
    note_submission(
        folder, NodeJobs(1, "local", "again", (0,), 100, 1000, 1e9, "host", "no partition")
    )
    assert sorted(needs_of(folder, retries=1)[0]) == [0, 1, 2, 3]


def test_a_node_that_never_commits_in_its_time_fails(tmp_path: Path) -> None:
    job = Job.make(tmp_path, n_lumis=2)
    run = tmp_path / "run"
    assert job.submit(run, "--nodes", 1, "--dry-run").code == 0
    write_course(RunDirectory(run), 0, 9, 9, 9, n_units=0)
    ended = forkrun("node", run, 0, "-q", cwd=tmp_path)
    assert ended.code == 5
    assert "node 0 was out of time 3 times without a commit" in ended.err


def test_a_first_submission_is_no_retry(tmp_path: Path) -> None:
    write_run(tmp_path, 2, 10)
    needs, problem = needs_of(RunDirectory(tmp_path), retries=0)
    assert (sorted(needs), problem) == ([0, 1], "")
