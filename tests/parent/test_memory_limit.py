"""The limit of memory holds: what a test adds up in /proc stays within a tenth of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from forkrun.base.quantities import size
from tests.support.files import write_events
from tests.support.jobs import PATIENCE_S, Ended, running, write_job
from tests.support.watch_memory import Watch, burners

MODULES = Path(__file__).with_name("growing_modules.py")
MB = 1_000_000


def job_of(folder: Path, n_children: int, limit: int, **params: float) -> Path:
    """600 events in calls of 10, each of which leaves something."""
    events = write_events(folder / "a.root", [(1, lumi, 30) for lumi in range(1, 21)])
    job: dict[str, Any] = {
        "source": {"files": [str(events)]},
        "forking": {"children": n_children},
        "limits": {"memory": limit},
        "threads": {"block_size": 10},
        "modules": [{"label": "grows", "type": f"python:{MODULES}:Grows", "params": params}],
        "paths": {"all": ["grows"]},
    }
    return write_job(folder, job)


def ended(folder: Path, file: Path, n_burners: int = 0) -> tuple[Ended, Watch]:
    """The command, and what it had."""
    with burners(n_burners), running("run", file, "-o", "run", "--no-plots", cwd=folder) as process:
        watch = Watch(process.pid, 1)
        watch.start()
        out, err = process.communicate(timeout=PATIENCE_S)
        watch.join()
    return Ended(process.returncode, out, err), watch


@pytest.mark.own_process
@pytest.mark.parametrize(
    ("n_children", "megabytes", "seconds", "n_burners"),
    [
        pytest.param(1, 30, 0.05, 0, marks=pytest.mark.slow),
        pytest.param(1, 30, 0.0, 0, marks=pytest.mark.slow),
        pytest.param(4, 20, 0.02, 0, marks=pytest.mark.slow),
        pytest.param(1, 30, 0.05, 4, marks=pytest.mark.long),
        pytest.param(1, 30, 0.0, 4, marks=pytest.mark.long),
        pytest.param(4, 20, 0.02, 4, marks=pytest.mark.long),
    ],
)
def test_the_limit_holds_and_every_event_is_done(
    tmp_path: Path, n_children: int, megabytes: float, seconds: float, n_burners: int
) -> None:
    limit = 700 * MB
    file = job_of(tmp_path, n_children, limit, megabytes=megabytes, seconds=seconds)
    job, watch = ended(tmp_path, file, n_burners)
    assert job.code == 0, job.err
    assert watch.most <= 1.1 * limit, job.err
    assert f"of {size(limit)} are used (limits.memory); child" in job.err
    report = json.loads((tmp_path / "run/report.json").read_text())
    assert report["job"]["outcome"] == "done"
    assert report["events"]["n_events_read"] == 600
    assert report["memory"]["peak"]["pss_bytes"] <= 1.1 * limit


@pytest.mark.slow
@pytest.mark.own_process
def test_a_unit_that_no_child_can_do_within_the_limit_ends_the_job(tmp_path: Path) -> None:
    job, watch = ended(tmp_path, job_of(tmp_path, 1, 400 * MB, megabytes=600))
    assert job.code == 5
    assert "unit 0 takes more memory than the limit allows" in job.err
    assert "raise limits.memory, or lower threads.block_size" in job.err
    assert watch.most <= 1.1 * 400 * MB


@pytest.mark.slow
@pytest.mark.own_process
def test_a_parent_above_the_limit_ends_the_job(tmp_path: Path) -> None:
    job, _ = ended(tmp_path, job_of(tmp_path, 2, 40 * MB, megabytes=1))
    assert job.code == 5
    assert "the parent alone has most of it: raise limits.memory, or load less" in job.err
