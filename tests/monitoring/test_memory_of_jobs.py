"""Memory as reports say it and as a test adds it up in /proc itself, of real jobs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.files import write_events
from tests.support.jobs import PATIENCE_S, running, write_job
from tests.support.watch_memory import Watch, burners

MODULES = Path(__file__).with_name("sleeping_modules.py")


def job_of(folder: Path, n_children: int, seconds: float, megabytes: float) -> Path:
    """Each child sleeps for so long, in ten events, and has so much memory of its own."""
    events = write_events(folder / "a.root", [(1, 1, 10 * n_children)])
    params = {"megabytes": megabytes, "seconds": seconds / 10}
    job = {
        "source": {"files": [str(events)]},
        "forking": {"children": n_children, "distribution": "contiguous"},
        "threads": {"block_size": 1},
        "modules": [{"label": "sleeps", "type": f"python:{MODULES}:Sleeps", "params": params}],
        "paths": {"all": ["sleeps"]},
    }
    return write_job(folder, job)


def measured(
    folder: Path, n_children: int, seconds: float, megabytes: float, is_loaded: bool
) -> tuple[dict[str, Any], Watch]:
    """The report, and what the test itself has added up."""
    file = job_of(folder, n_children, seconds, megabytes)
    n_burners = 2 * (os.cpu_count() or 1) if is_loaded else 0
    with burners(n_burners), running("run", file, "-o", "run", cwd=folder) as process:
        watch = Watch(process.pid, n_children, 1e6 * megabytes)
        watch.start()
        out, err = process.communicate(timeout=PATIENCE_S)
        watch.join()
    assert process.returncode == 0, err
    assert "Memory    peak" in out
    report = json.loads((folder / "run/report.json").read_text())
    return report, watch


@pytest.mark.own_process
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("is_loaded", [False, True])
@pytest.mark.parametrize(
    ("n_children", "seconds", "megabytes"),
    [
        pytest.param(1, 2, 100, marks=pytest.mark.slow),
        pytest.param(8, 2, 32, marks=pytest.mark.slow),
        pytest.param(24, 20, 32, marks=pytest.mark.long),
        pytest.param(64, 10, 32, marks=pytest.mark.long),
        pytest.param(256, 20, 8, marks=pytest.mark.long),
    ],
)
def test_the_peak_is_what_the_processes_have_in_proc(
    tmp_path: Path, n_children: int, seconds: float, megabytes: float, is_loaded: bool
) -> None:
    report, watch = measured(tmp_path, n_children, seconds, megabytes, is_loaded)
    memory, peak = report["memory"], report["memory"]["peak"]
    assert watch.plateau[0]
    assert peak["n_processes"] == 1 + n_children
    # Pages of libraries that other programs begin or cease to map change the sums: by 6 % where
    # other tests of this environment run at the same time. What a process has for less than the
    # time between two samples counts from 2 % on.
    highest = max(watch.plateau[0], watch.highest[0])
    assert 0.97 * highest <= peak["pss_bytes"] <= 1.1 * highest
    assert peak["private_bytes"] >= n_children * megabytes * 1e6
    assert peak["private_bytes"] + peak["shared_bytes"] == peak["pss_bytes"]
    assert peak["pss_bytes"] + memory["saving_bytes"] == peak["rss_bytes"]
    assert not memory["is_at_least"]
