"""Jobs on a real HTCondor pool, of which nodes are removed, evicted and lost."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.batch.condor_pool import Pool, pool, why_not
from tests.batch.jobs import Job, problem_of
from tests.batch.slurm_cluster import wait_long
from tests.support.jobs import ROOT, Ended

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bool(why_not()), reason=why_not() or "HTCondor is here"),
]


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """Takes 20 s of each of four nodes."""
    return Job.make(tmp_path_factory.mktemp("job"), n_lumis=80, time_s=0.05)


@pytest.fixture(scope="module")
def condor(job: Job) -> Iterator[Pool]:
    with pool(job.folder) as made:
        yield made


def _submit(condor: Pool, job: Job, run: Path, *settings: str, n_nodes: int = 4) -> Ended:
    command = f'batch.command="{sys.executable} -m forkrun"'
    more = f'batch.setup=["export PYTHONPATH={ROOT}"]'
    given = [word for text in (command, more, *settings) for word in ("--set", text)]
    where = ("--on", "htcondor", "-o", run, "--nodes", n_nodes)
    return condor.forkrun("submit", job.file, *where, *given)


def _status(condor: Pool, run: Path) -> dict[str, Any]:
    ended = condor.forkrun("status", run, "--json")
    assert ended.code == 0, ended.err
    said: dict[str, Any] = json.loads(ended.out)
    return said


def _jobs(condor: Pool, run: Path) -> dict[int, str]:
    """Ids of the jobs that run, by node."""
    name = json.loads((run / "batch/submitted.jsonl").read_text().splitlines()[0])["name"]
    wanted = ("-constraint", f'ForkrunName == "{name}" && JobStatus == 2')
    shown = ("-af", "ForkrunNode", "ClusterId", "ProcId")
    lines = condor.ask("condor_q", *wanted, *shown).splitlines()
    return {int(node): f"{cluster}.{place}" for node, cluster, place in map(str.split, lines)}


def _pid_of_starter(folder: Path, run: Path, number: int) -> int:
    """Of the starter above a node's parent, in the numbers of the whole machine."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        script = str(run / "batch/htcondor-0.sh").encode()
        if words[:1] == [b"/bin/bash"] and script in words and str(number).encode() in words:
            status = (process / "status").read_text().splitlines()
            return int(next(line.split()[1] for line in status if line.startswith("PPid")))
    raise AssertionError(f"node {number} does not run")


def _codes(run: Path, number: int) -> list[int]:
    lines = (run / f"batch/ends/{number:04d}.jsonl").read_text().splitlines()
    return [value["code"] for value in map(json.loads, lines) if value["event"] == "end"]


def test_a_job_survives_what_happens_to_nodes(condor: Pool, job: Job) -> None:
    """One is removed, one evicted, the starter of one is killed, the parent of one is killed, and
    the schedd dies in between."""
    run = job.folder / "run"
    ended = _submit(condor, job, run, "batch.cores=1", 'batch.memory="1 GB"', "batch.time=600")
    assert ended.code == 0, ended.err
    assert "4 job(s) submitted to cluster" in ended.out
    wait_long(lambda: all(node["n_units"] for node in _status(condor, run)["nodes"]))
    jobs = _jobs(condor, run)
    assert condor.call("condor_rm", jobs[0]).code == 0
    assert condor.call("condor_vacate_job", jobs[1]).code == 0
    os.kill(_pid_of_starter(job.folder, run, 2), signal.SIGKILL)
    lock = json.loads((run / "nodes/0003/lock").read_bytes())
    assert condor.call("bash", "-c", f"kill -KILL {lock['pid']}").code == 0
    wait_long(lambda: _status(condor, run)["nodes"][3]["state"] == "failed")
    assert _status(condor, run)["nodes"][3]["code"] == 137
    wait_long(lambda: _status(condor, run)["nodes"][0]["state"] == "cancelled")
    assert "condor_rm" in _status(condor, run)["nodes"][0]["reason"]
    condor.kill_daemon("condor_schedd")
    silent = _status(condor, run)
    assert silent["batch_system_answers"] or not silent["states"]["lost"]

    def is_done() -> bool:
        status = _status(condor, run)
        missing = [
            status["states"][state] for state in ("failed", "lost", "ended early", "cancelled")
        ]
        if sum(missing) and status["batch_system_answers"]:
            condor.forkrun("resubmit", run)
        return bool(status["states"]["done"] == 4)

    wait_long(is_done)
    codes = {0: [9, 0], 1: [9, 0], 2: [0], 3: [137, 0]}
    wait_long(lambda: {number: _codes(run, number) for number in range(4)} == codes)
    assert all(node["n_starts"] == 2 for node in _status(condor, run)["nodes"])
    collected = condor.forkrun("collect", run, "-q")
    assert collected.code == 0, collected.err
    assert problem_of(run, job.truth) == ""


def test_what_is_out_of_time_goes_back_into_the_queue(condor: Pool, job: Job) -> None:
    run = job.folder / "late"
    limits = ("batch.cores=1", "batch.time=35", "batch.at_once=1")
    ended = _submit(condor, job, run, *limits, "modules.slow.params.time_s=0.06", n_nodes=2)
    assert ended.code == 0, ended.err
    wait_long(lambda: bool(_jobs(condor, run)))
    most = 0

    def is_done() -> bool:
        nonlocal most
        status = _status(condor, run)
        most = max(most, len(_jobs(condor, run)))
        assert not status["states"]["failed"], status
        return bool(status["states"]["done"] == 2)

    wait_long(is_done)
    assert most == 1
    assert any(9 in _codes(run, number) for number in range(2))
    assert len((run / "batch/submitted.jsonl").read_text().splitlines()) == 1
    assert condor.forkrun("collect", run, "-q").code == 0
    assert problem_of(run, job.truth) == ""


def test_what_is_killed_ends_and_is_kept(condor: Pool, job: Job) -> None:
    run = job.folder / "killed"
    long = "modules.slow.params.time_s=0.5"  # no node is done before it is killed
    assert _submit(condor, job, run, "batch.cores=1", long).code == 0
    wait_long(lambda: _status(condor, run)["nodes"][1]["n_units"] > 0)
    assert condor.forkrun("kill", run, "--nodes", "1").code == 0
    wait_long(lambda: _status(condor, run)["nodes"][1]["state"] == "cancelled")
    assert len(_jobs(condor, run)) == 3
    assert condor.forkrun("kill", run).code == 0
    wait_long(lambda: _status(condor, run)["states"]["cancelled"] == 4)
    assert not _jobs(condor, run)


def test_a_wrong_line_is_refused_and_the_job_can_be_submitted_later(condor: Pool, job: Job) -> None:
    wrong = 'batch.directives=["concurrency_limits = no-name"]'
    ended = _submit(condor, job, job.folder / "wrong", wrong)
    assert ended.code == 10, ended.out
    assert "htcondor: condor_submit: " in ended.err
    assert _status(condor, job.folder / "wrong")["states"]["not submitted"] == 4


def test_dagman_waits_for_the_nodes_and_merges(condor: Pool, job: Job) -> None:
    """One node is removed: the merge says that it is missing. Resubmitted, the job is merged."""
    run = job.folder / "merged"
    settings = ("batch.cores=1", "batch.merge=true", "batch.merge_jobs=2")
    ended = _submit(condor, job, run, *settings, n_nodes=2)
    assert ended.code == 0, ended.err
    assert "DAGMan merges when no node's job is left, after 2 jobs for parts" in ended.out
    wait_long(lambda: _status(condor, run)["nodes"][1]["n_units"] > 0)
    assert condor.forkrun("kill", run, "--nodes", "1").code == 0
    log = run / "batch/logs/merge.log"
    wait_long(lambda: log.exists() and "1 of 2 nodes is not done (node 1: " in log.read_text())
    assert condor.forkrun("resubmit", run).code == 0
    wait_long(lambda: _status(condor, run)["collected"])
    wait_long(lambda: (run / "report.json").exists())
    assert problem_of(run, job.truth) == ""
