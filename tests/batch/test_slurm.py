"""Jobs on a real Slurm cluster of three nodes, of which one is lost."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forkrun.base.durable import read_json
from forkrun.batch.course import read_submissions
from forkrun.rundir.directory import RunDirectory
from tests.batch.jobs import Job, problem_of, status_of
from tests.batch.slurm_cluster import Cluster, cluster, wait_long, why_not
from tests.batch.test_submission import run_program, write_files
from tests.support.jobs import Ended, environment, forkrun, output_digests

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bool(why_not()), reason=why_not() or "Slurm is here"),
]
TIME_LIMIT_S = 60
"""The shortest that Slurm knows."""


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("slurm")) as made:
        before = dict(os.environ)
        os.environ.update(made.environment)
        try:
            yield made
        finally:
            os.environ.clear()
            os.environ.update(before)


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """Takes 40 s of each of four nodes, more than a job's time limit leaves of a minute."""
    return Job.make(tmp_path_factory.mktemp("job"), n_lumis=80, time_s=0.1)


def _command(*arguments: object, cwd: Path) -> Ended:
    """With the environment as it is now: that of the cluster's clients."""
    return forkrun(*arguments, cwd=cwd, env=environment())


def _jobs_of(slurm: Cluster, run: Path) -> dict[int, dict[str, str]]:
    """State, node and id of the jobs, by number of the node of the run."""
    lines = slurm.ask("squeue", "-h", "-r", "-o", "%K|%T|%N|%i|%j").splitlines()
    fields = [line.split("|") for line in lines]
    name = json.loads((run / "batch/submitted.jsonl").read_text().splitlines()[0])["name"]
    return {int(f[0]): {"state": f[1], "host": f[2], "id": f[3]} for f in fields if f[4] == name}


def _node(run: Path, number: int) -> dict[str, Any]:
    node: dict[str, Any] = status_of(run)["nodes"][number]
    return node


def test_a_job_survives_what_happens_to_nodes(slurm: Cluster, job: Job) -> None:
    """One is killed, one machine is lost, one job requeued, all are evicted at their time limit,
    and slurmctld restarts in between."""
    run = job.folder / "run"
    ended = job.submit(
        run, "--nodes", 4, "--set", "batch.cores=1", "--set", 'batch.memory="1 GB"',
        "--set", f"batch.time={TIME_LIMIT_S}", on="slurm",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    wait_long(lambda: all(node["n_units"] for node in status_of(run)["nodes"]))

    jobs = _jobs_of(slurm, run)
    lost_host = jobs[0]["host"]
    on_others = [number for number, found in jobs.items() if found["host"] != lost_host]
    killed, requeued = on_others[:2]
    os.kill(read_json(run / f"nodes/{killed:04d}/lock")["pid"], signal.SIGKILL)
    slurm.ask("scontrol", "requeue", jobs[requeued]["id"])
    slurm.lose_node(int(lost_host[1:]))
    slurm.end_controller()
    # The scheduler is silent: what runs is seen from files, the rest is unknown, nothing failed.
    silent = status_of(run)
    assert not silent["batch_system_answers"]
    assert silent["states"]["failed"] == silent["states"]["lost"] == 0
    assert silent["states"]["unknown"] >= 1
    slurm.begin_controller()
    wait_long(lambda: _node(run, killed)["state"] == "failed")
    assert _node(run, killed)["code"] == 137
    assert _command("resubmit", run, cwd=job.folder).code == 0
    slurm.begin_node(int(lost_host[1:]))

    def is_done() -> bool:
        status = status_of(run)
        for state in ("failed", "lost", "ended early", "cancelled"):
            if status["states"][state]:
                assert _command("resubmit", run, cwd=job.folder).code == 0
        return bool(status["states"]["done"] == 4)

    wait_long(is_done, limit_s=900.0)
    evicted = [n for n in range(4) if 9 in _codes(run, n)]
    assert evicted
    assert all(node["n_starts"] > 1 for node in status_of(run)["nodes"])
    collected = _command("collect", run, "-q", cwd=job.folder)
    assert collected.code == 0, collected.err
    assert problem_of(run, job.truth) == ""


def _codes(run: Path, number: int) -> list[int]:
    lines = (run / f"batch/ends/{number:04d}.jsonl").read_text().splitlines()
    return [value["code"] for value in map(json.loads, lines) if value["event"] == "end"]


def test_a_wrong_partition_is_refused_and_the_job_can_be_submitted_later(
    slurm: Cluster, job: Job
) -> None:
    run = job.folder / "wrong"
    ended = job.submit(run, "--nodes", 2, "--set", "batch.partition=wrong", on="slurm")
    assert ended.code == 10
    assert "invalid partition specified: wrong" in ended.err
    again = _command("resubmit", run, "--set", "batch.partition=p", cwd=job.folder)
    assert again.code == 0, again.err
    assert again.out.startswith("Submitted batch job ")
    assert status_of(run)["states"]["not submitted"] == 0
    assert _command("kill", run, cwd=job.folder).code == 0


def test_what_is_killed_ends_and_goes_on_when_it_is_resubmitted(slurm: Cluster, job: Job) -> None:
    run = job.folder / "killed"
    shape = ("--nodes", 2, "--set", "batch.cores=1", "--set", 'batch.memory="1 GB"')
    assert job.submit(run, *shape, on="slurm").code == 0
    wait_long(lambda: all(node["n_units"] for node in status_of(run)["nodes"]))
    assert _command("kill", run, cwd=job.folder).code == 0
    wait_long(lambda: status_of(run)["states"]["cancelled"] == 2)
    kept = status_of(run)["n_units"]
    assert kept
    fast = ("--set", "batch.time=300")
    assert _command("resubmit", run, *fast, cwd=job.folder).code == 0
    wait_long(lambda: status_of(run)["n_units"] > kept)
    assert _command("kill", run, cwd=job.folder).code == 0


def test_what_scancel_ends_is_cancelled_and_resumed(slurm: Cluster, job: Job) -> None:
    run = job.folder / "cancelled"
    shape = ("--nodes", 1, "--set", "batch.cores=1", "--set", 'batch.memory="1 GB"')
    slow = ("--set", "modules.slow.params.time_s=0.2")
    assert job.submit(run, *shape, *slow, on="slurm").code == 0
    wait_long(lambda: status_of(run)["nodes"][0]["n_units"])
    slurm.ask("scancel", "--name", read_submissions(RunDirectory(run))[0].name)
    wait_long(lambda: status_of(run)["states"]["cancelled"])
    assert "cancelled" in status_of(run)["nodes"][0]["reason"].lower()
    assert _command("resubmit", run, cwd=job.folder).code == 0
    wait_long(lambda: status_of(run)["states"]["running"])
    assert _command("kill", run, cwd=job.folder).code == 0


def test_a_job_whose_time_limit_is_lowered_goes_back_into_the_queue(
    slurm: Cluster, job: Job
) -> None:
    """The node knows nothing of it until Slurm ends it."""
    run = job.folder / "lowered"
    shape = ("--nodes", 1, "--set", "batch.cores=1", "--set", 'batch.memory="1 GB"')
    slow = ("--set", "modules.slow.params.time_s=1.0", "--set", "batch.time=1800")
    assert job.submit(run, *shape, *slow, on="slurm").code == 0
    wait_long(lambda: _node(run, 0)["n_units"] > 0)
    slurm.ask("scontrol", "update", f"jobid={_jobs_of(slurm, run)[0]['id']}", "timelimit=1")
    wait_long(lambda: _codes(run, 0) == [9], limit_s=240.0)
    wait_long(lambda: _jobs_of(slurm, run)[0]["state"] == "PENDING")
    assert _node(run, 0)["state"] == "waiting"
    assert _command("kill", run, cwd=job.folder).code == 0
    wait_long(lambda: not _jobs_of(slurm, run))


def test_jobs_that_wait_for_the_nodes_make_parts_and_merge(slurm: Cluster, job: Job) -> None:
    run = job.folder / "merged"
    shape = ("--nodes", 2, "--set", "batch.cores=1", "--set", 'batch.memory="1 GB"', "--merge")
    fast = ("--set", "modules.slow.params.time_s=0.0", "--set", "batch.merge_jobs=2")
    ended = job.submit(run, *shape, *fast, on="slurm")
    assert ended.code == 0, ended.err
    assert ended.out.count("Submitted batch job ") == 2
    wait_long(lambda: bool(status_of(run)["collected"]))
    wait_long(lambda: (run / "report.json").exists())
    assert problem_of(run, job.truth) == ""
    assert [(run / f"batch/logs/merge.log.{n}").exists() for n in range(3)] == [True, True, False]


def test_a_program_in_python_submits_its_functions(slurm: Cluster, tmp_path: Path) -> None:
    write_files(tmp_path)
    run_program(tmp_path, 'job().run(children=1, output="one", quiet=True, plots=False)')
    run_program(
        tmp_path,
        'made = job().submit(on="slurm", nodes=2, output="many", quiet=True)\n'
        "    assert made.wait(300, quiet=True).answers\n"
        "    made.collect(quiet=True)",
    )
    assert output_digests(tmp_path / "many") == output_digests(tmp_path / "one")
