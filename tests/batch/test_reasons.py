"""What `status` says of nodes that are not done, and of the merge."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from forkrun.batch.course import (
    SCANCELLED,
    NodeJobs,
    existing_logs,
    last_words,
    note_submission,
    reports_exceeded_memory,
    submission_mark,
)
from forkrun.batch.status import State, read_status, status_lines
from forkrun.batch.systems.htcondor import HTCondor
from forkrun.batch.systems.slurm import Slurm
from forkrun.batch.systems.system import Alive, Life
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.nodes import NodeRanges
from tests.batch.jobs import Job, problem_of, status_of
from tests.batch.synthetic import write_run
from tests.support.files import write_events
from tests.support.jobs import environment, forkrun, wait_for


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return Job.make(tmp_path_factory.mktemp("job"), n_lumis=6)


def submission(number: int, *nodes: int) -> NodeJobs:
    return NodeJobs(number, "slurm", f"name-{number}", nodes, None, None, 1e9, "host")


@pytest.fixture
def folder(tmp_path: Path) -> RunDirectory:
    """Three nodes, none of them done, that were submitted to Slurm, the last one again."""
    write_run(tmp_path, 3, 10)
    made = RunDirectory(tmp_path)
    for each in (submission(0, 0, 1, 2), submission(1, 2)):
        note_submission(made, each)
    made.batch_log(0).parent.mkdir(parents=True)
    return made


# --- whose log it is ------------------------------------------------------------------------------


def test_the_log_of_a_node_is_that_of_its_own_job(folder: RunDirectory) -> None:
    """Place 0 of the first submission is node 0, that of the second one is node 2."""
    logs = folder.batch_log(0).parent
    (logs / "slurm-0-100_0.log").write_text("forkrun: no such file\n")
    (logs / "slurm-1-200_0.log").write_text("slurmstepd: error: Detected 1 oom_kill event\n")
    first, second = submission(0, 0, 1, 2), submission(1, 2)
    assert existing_logs(folder, 0, first) == [logs / "slurm-0-100_0.log"]
    assert last_words(folder, 0, first) == "no such file"
    assert not reports_exceeded_memory(folder, 0, first)
    assert reports_exceeded_memory(folder, 2, second)


def test_what_a_node_said_for_an_earlier_submission_is_no_reason_now(folder: RunDirectory) -> None:
    first, second = submission(0, 0, 1, 2), submission(1, 2)
    said = [submission_mark(first), "forkrun: out of memory", ""]
    folder.batch_log(2).write_text("\n".join(said))
    assert reports_exceeded_memory(folder, 2, first)
    assert not reports_exceeded_memory(folder, 2, second)
    assert last_words(folder, 2, second) == ""
    with folder.batch_log(2).open("a") as log:
        log.write(f"{submission_mark(second)}\nloading tables\n")
    assert not reports_exceeded_memory(folder, 2, second)
    assert last_words(folder, 2, second) == "loading tables"
    assert last_words(folder, 2, second, errors_alone=True) == ""


# --- what a batch system says ---------------------------------------------------------------------

SQUEUE = """#!/bin/bash
case "$*" in
    *name-0-merge*) echo PENDING;;
    *) printf 'name-0|0|PENDING|PartitionTimeLimit\\nname-0|1|PENDING|(Priority)\\n';;
esac
"""


@pytest.fixture
def squeue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "bin/squeue"
    place.parent.mkdir()
    place.write_text(SQUEUE)
    place.chmod(0o755)
    monkeypatch.setenv("PATH", f"{place.parent}:{os.environ['PATH']}")


@pytest.fixture
def no_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "bin/squeue"
    place.parent.mkdir()
    place.write_text("#!/bin/bash\n")
    place.chmod(0o755)
    monkeypatch.setenv("PATH", f"{place.parent}:{os.environ['PATH']}")


@pytest.mark.usefixtures("squeue")
def test_why_a_job_waits_that_will_never_begin_is_said(folder: RunDirectory) -> None:
    status = read_status(folder, NodeRanges.read(folder))
    states = [(node.state, node.reason) for node in status.nodes]
    assert states[:2] == [(State.WAITING, "slurm: PartitionTimeLimit"), (State.WAITING, "")]
    assert states[2] == (State.LOST, "its job ended without a reason; it may have been killed")
    lines = list(status_lines(folder, status))
    assert "1 node may never begin: slurm: PartitionTimeLimit" in lines


def test_a_job_for_which_htcondor_finds_no_machine_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: RunDirectory
) -> None:
    lines = [
        "0 1 no match found", "1 1 insufficient priority", "2 1 undefined", "3 2 no match found",
        "4 1 submitter limit exceeded", "5 5 undefined",
    ]  # fmt: skip
    place = tmp_path / "condor_q"
    place.write_text("#!/bin/bash\n" + "".join(f"echo '{line}'\n" for line in lines))
    place.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    lives = HTCondor().lives(folder, [submission(0, 0, 1, 2, 3, 4, 5)])
    why = "htcondor: no match found; condor_q -better-analyze says why"
    assert lives == {
        0: Alive(Life.WAITING, why),
        1: Alive(Life.WAITING),
        2: Alive(Life.WAITING),
        3: Alive(Life.RUNNING),
        4: Alive(Life.WAITING),
    }


@pytest.mark.usefixtures("squeue")
def test_a_merge_that_waits_in_the_batch_system_is_no_command_to_type(folder: RunDirectory) -> None:
    assert not read_status(folder, NodeRanges.read(folder)).wants_merge
    (folder.batch / "merge-0.sh").touch()
    status = read_status(folder, NodeRanges.read(folder))
    assert (status.wants_merge, status.merges) == (True, True)
    last = list(status_lines(folder, status))[-1]
    assert last.startswith("the merge begins when they have ended; its log: ")


@pytest.mark.parametrize(("said", "most"), [("MaxArraySize            = 11", 11), ("", 1000),
                                            ("MaxArraySize = 4000001", 1000)])  # fmt: skip
def test_an_array_is_as_large_as_the_site_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, most: int
) -> None:
    place = tmp_path / "scontrol"
    place.write_text(f"#!/bin/bash\necho 'MaxJobCount = 7'\necho '{said}'\n")
    place.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert Slurm().most_nodes() == most


# --- kills, merges --------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_node_that_was_asked_to_end_before_it_began_is_not_lost(tmp_path: Path) -> None:
    job = Job.make(tmp_path, n_lumis=4, time_s=5.0)
    run = tmp_path / "run"
    assert job.submit(run, "--nodes", 2, "--set", "batch.at_once=1").code == 0
    assert forkrun("kill", run, "--nodes", 1, cwd=tmp_path).code == 0
    wait_for(lambda: status_of(run)["nodes"][1]["state"] != "waiting")
    node = status_of(run)["nodes"][1]
    assert (node["state"], node["n_starts"]) == ("cancelled", 0)
    assert node["reason"] == "forkrun kill before it began"
    wait_for(lambda: status_of(run)["nodes"][0]["state"] == "running")
    assert forkrun("kill", run, cwd=tmp_path).code == 0
    wait_for(lambda: not status_of(run)["states"]["running"])
    node = status_of(run)["nodes"][0]
    assert (node["state"], node["reason"]) == ("cancelled", "forkrun kill")
    said = forkrun("status", run, cwd=tmp_path)
    assert "1 node cancelled: forkrun kill\n" in said.out
    assert f"forkrun resubmit {run} submits the missing nodes" in said.out
    assert "exit code" not in said.out


BEGAN_S, SUBMITTED_S = 1e9 + 50, 1e9
SLURM_SAYS = "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-28T10:00:00{} ***"


@pytest.mark.parametrize(
    ("code", "killed_s", "said", "state", "reason"),
    [
        (143, 0.0, "", State.CANCELLED, "SIGTERM ended it: scancel, condor_rm or the batch system"),
        (143, BEGAN_S + 9, "", State.CANCELLED, "forkrun kill"),
        (9, BEGAN_S + 9, "", State.CANCELLED, "forkrun kill"),
        (None, BEGAN_S + 9, "", State.CANCELLED, "forkrun kill"),
        (5, BEGAN_S + 9, "forkrun: no", State.FAILED, "no"),
        (9, SUBMITTED_S - 9, "forkrun: out of time", State.ENDED_EARLY, "out of time"),
        (9, 0.0, f"forkrun: {SCANCELLED}", State.CANCELLED, SCANCELLED),
        (None, 0.0, SLURM_SAYS.format(""), State.CANCELLED, None),
        (None, 0.0, SLURM_SAYS.format(" DUE TO TIME LIMIT"), State.ENDED_EARLY, None),
        (None, 0.0, SLURM_SAYS.format(" DUE TO PREEMPTION"), State.ENDED_EARLY, None),
        (None, 0.0, SLURM_SAYS.format(" DUE TO NODE FAILURE, SEE SLURMCTLD LOG"), State.LOST, None),
        (137, 0.0, "", State.FAILED, "SIGKILL ended it, possibly for lack of memory"),
        (137, 0.0, "slurmstepd: error: Detected 1 oom_kill event", State.FAILED, None),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("no_jobs")
def test_who_ended_a_node_is_said(
    folder: RunDirectory, code: int | None, killed_s: float, said: str, state: State,
    reason: str | None,
) -> None:  # fmt: skip
    lines: list[dict[str, object]] = [{"event": "start", "time_s": BEGAN_S, "host": "h"}]
    lines += [{"event": "end", "time_s": BEGAN_S + 10, "code": code}] if code else []
    folder.node_ends(0).parent.mkdir(exist_ok=True)
    folder.node_ends(0).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    folder.batch_log(0).write_text(f"{submission_mark(submission(0, 0, 1, 2))}\n{said}\n")
    if killed_s:
        folder.kills.write_text(json.dumps({"time_s": killed_s, "nodes": [0]}) + "\n")
    node = read_status(folder, NodeRanges.read(folder)).nodes[0]
    assert (node.state, node.reason) == (state, said if reason is None else reason)


@pytest.mark.slow
def test_following_a_job_ends_when_it_is_merged(job: Job) -> None:
    run = job.folder / "followed"
    assert job.submit(run, "--nodes", 2, "--merge", "--set", "batch.at_once=2").code == 0
    followed = forkrun("status", run, "--follow", cwd=job.folder)
    assert followed.code == 0, followed.out
    assert followed.out.endswith(f"collected: its outputs are in {run}/output\n")
    assert "forkrun collect" not in followed.out
    assert problem_of(run, job.truth) == ""


def test_following_a_job_whose_merge_fails_says_why(job: Job) -> None:
    run = job.folder / "unmerged"
    only_nodes = 'batch.setup=["test -n \\"$number\\" || { echo no licence; false; }"]'
    assert job.submit(run, "--nodes", 1, "--merge", "--set", only_nodes).code == 0
    followed = forkrun("status", run, "--follow", cwd=job.folder)
    assert followed.code == 5
    assert "the merge failed: batch.setup: exit code 1 of: test -n" in followed.out


def test_a_job_that_grows_keeps_the_batch_system_that_was_named(tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.root" for name in "ab"]
    for lumi, file in enumerate(files, start=1):
        write_events(file, [(1, lumi, 10)])
    job, run = Job.of(tmp_path, files[:1]), tmp_path / "run"
    assert job.submit(run, "--nodes", 1, "--dry-run").code == 0
    described = json.loads(job.file.read_bytes())
    described["source"]["files"] = [str(file) for file in files]
    job.file.write_text(json.dumps(described))
    ended = job.submit(run, "--extend", "--dry-run", on="slurm")
    assert ended.code == 0, ended.err
    assert json.loads((run / "config.json").read_bytes())["batch"]["on"] == "slurm"
    again = forkrun("resubmit", run, cwd=tmp_path, env=environment(PATH="/nowhere"))
    assert again.code == 10
    assert "slurm: sbatch is not installed here" in again.err
