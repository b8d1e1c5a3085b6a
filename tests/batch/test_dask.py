"""Jobs on a Dask cluster, of which workers, the scheduler or the client are killed."""

from __future__ import annotations

import json
import os
import signal
import threading
from functools import partial
from pathlib import Path

import pytest

import forkrun
from forkrun.base.durable import read_json
from forkrun.batch.course import read_course
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.progress import read_progress
from forkrun.rundir.results import RunResults
from tests.batch.dask_cluster import processes
from tests.batch.jobs import Job, problem_of
from tests.batch.slurm_cluster import wait_long
from tests.rundir.test_kept_results import HIST
from tests.support.jobs import PATIENCE_S, environment, wait_for

distributed = pytest.importorskip("distributed", reason="pip install forkrun[dask]")
pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore"),  # of Dask's own, when workers are killed
]


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return Job.make(tmp_path_factory.mktemp("job"), n_lumis=40, time_s=0.05)


def test_a_job_on_a_cluster_survives_a_worker_that_is_killed(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    run = job.folder / "dask"
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = [worker["pid"] for worker in client.run(_about).values()]
        killer = threading.Thread(target=_kill_first_that_works, args=(run, pids))
        killer.start()
        result = forkrun.load(job.file).run(cluster=client, nodes=3, output=run, quiet=True)
        killer.join()
        assert sorted(result.outputs) == ["all", "skim"]
        assert problem_of(run, job.truth) == ""
        starts = [len(read_course(RunDirectory(run), number).starts) for number in range(3)]
        assert sum(starts) > 3
        for n_bins in (6, 3):
            changed = json.loads(job.file.read_bytes())
            axes = [{"bins": n_bins, "low": 0, "high": 6}]
            changed["modules"].append({**HIST, "axes": axes})
            changed["paths"]["counts"] = ["counts"]
            changed_file = job.folder / "changed.json"
            changed_file.write_text(json.dumps(changed))
            result = forkrun.load(changed_file).run(cluster=client, output=run, quiet=True)
            assert len(result.histograms["counts"].axes[0]) == n_bins
        assert RunResults.read(RunDirectory(run)).keeps("output", "skim")


def _about() -> dict[str, int]:
    return {"pid": os.getpid()}


def _kill_first_that_works(run: Path, pids: list[int]) -> None:
    """Kills the worker that runs the first node with a commit."""
    folder = RunDirectory(run)
    wait_for(lambda: any(read_progress(folder.node(n)).n_units for n in range(3)))
    lock = next(lock for lock in run.glob("nodes/*/lock"))
    parent = _parent_of(read_json(lock)["pid"])
    assert parent in pids
    os.kill(parent, signal.SIGKILL)


def _parent_of(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[1])


def test_a_job_runs_on_a_cluster_of_dask_jobqueue(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobqueue = pytest.importorskip("dask_jobqueue.local", reason="pip install dask-jobqueue")
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    run = job.folder / "jobqueue"
    with (
        jobqueue.LocalCluster(
            cores=1, processes=1, memory="1 GB", n_workers=2, log_directory=str(tmp_path),
            scheduler_options={"dashboard_address": None},
        ) as cluster,
        distributed.Client(cluster) as client,
    ):  # fmt: skip
        client.wait_for_workers(2, timeout=PATIENCE_S)
        forkrun.load(job.file).run(cluster=client, output=run, quiet=True)
    assert len(list((run / "nodes").iterdir())) == 2
    assert problem_of(run, job.truth) == ""


@pytest.fixture(scope="module")
def slow_job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """Takes 8 s of each of three nodes."""
    return Job.make(tmp_path_factory.mktemp("slow-job"), n_lumis=24, time_s=0.05)


def _n_units(run: Path) -> int:
    folder = RunDirectory(run)
    return sum(read_progress(folder.node(number)).n_units for number in range(3))


def _has_more_units(run: Path, n_before: int) -> bool:
    return _n_units(run) > n_before


def test_a_job_survives_workers_that_are_killed_again_and_again(
    slow_job: Job, tmp_path: Path
) -> None:
    run, n_before = slow_job.folder / "again", 0
    with processes(tmp_path) as dask:
        dask.begin(n_workers=2)
        client = dask.client(slow_job, run, n_nodes=3)
        for number in range(5):
            wait_long(partial(_has_more_units, run, n_before))
            n_before = _n_units(run)
            dask.kill_worker(number % 2)
            dask.add_worker()
        assert client.wait(600) == 0, dask.said()
    assert problem_of(run, slow_job.truth) == ""


def test_a_scheduler_that_is_lost_is_said_and_another_one_resumes_the_job(
    slow_job: Job, tmp_path: Path
) -> None:
    run = slow_job.folder / "lost"
    with processes(tmp_path) as dask:
        dask.begin(n_workers=2)
        client = dask.client(slow_job, run, n_nodes=3)
        wait_long(lambda: _n_units(run) > 0)
        dask.lose_scheduler()
        assert client.wait(300) == 10
        assert "the connection to Dask's scheduler is lost" in dask.said()
        assert "the same call with another client resumes the job" in dask.said()
        kept = _n_units(run)
        dask.begin(n_workers=2)
        assert dask.client(slow_job, run, n_nodes=3).wait(600) == 0, dask.said()
    assert kept > 0
    assert problem_of(run, slow_job.truth) == ""


def test_a_client_that_goes_away_leaves_nodes_that_the_next_one_waits_for(
    slow_job: Job, tmp_path: Path
) -> None:
    run = slow_job.folder / "gone"
    with processes(tmp_path) as dask:
        dask.begin(n_workers=3)
        client = dask.client(slow_job, run, n_nodes=3)
        wait_long(lambda: all(read_progress(RunDirectory(run).node(n)).n_units for n in range(3)))
        client.kill()
        client.wait()
        assert dask.client(slow_job, run, n_nodes=3).wait(600) == 0, dask.said()
    starts = [len(read_course(RunDirectory(run), number).starts) for number in range(3)]
    assert starts == [1, 1, 1]
    assert problem_of(run, slow_job.truth) == ""
