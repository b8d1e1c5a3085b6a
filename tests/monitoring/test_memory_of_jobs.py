"""Memory as reports say it and as a test adds it up in /proc itself, of real jobs."""

from __future__ import annotations

import json
import multiprocessing
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.files import write_events
from tests.support.jobs import PATIENCE_S, running, write_job

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


class Watch(threading.Thread):
    """Adds up PSS and private memory of a process and of its children, again and again. `highest`:
    the highest sum of PSS in which all children were there, and its private memory; `plateau`:
    the highest of those in which these had all so much of their own [bytes]."""

    def __init__(self, pid: int, n_children: int, own_bytes: float) -> None:
        super().__init__(daemon=True)
        self._pid, self._n_children, self._own_bytes = pid, n_children, own_bytes
        self.highest = self.plateau = (0, 0)

    def run(self) -> None:
        """Until the process ends."""
        while (before := self._pids()) is not None:
            sizes = [memory_of(pid) for pid in before]
            if len(before) == 1 + self._n_children and before == self._pids():
                total = sum(pss for pss, _ in sizes), sum(private for _, private in sizes)
                self.highest = max(self.highest, total)
                if min(private for _, private in sizes[1:]) > self._own_bytes:
                    self.plateau = max(self.plateau, total)
            time.sleep(0.05)

    def _pids(self) -> list[int] | None:
        try:
            file = Path(f"/proc/{self._pid}/task/{self._pid}/children")
            return [self._pid, *map(int, file.read_text().split())]
        except OSError:
            return None


def memory_of(pid: int) -> tuple[int, int]:
    """PSS and private memory; 0 of a process that has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return 0, 0
    fields = {
        name: 1024 * int(size.split()[0]) for name, _, size in (x.partition(":") for x in lines)
    }
    return fields["Pss"], fields["Private_Dirty"] + fields["Private_Clean"]


def _burn() -> None:
    while True:
        pass


@contextmanager
def burners(n: int) -> Iterator[None]:
    """Processes that want a CPU each."""
    processes = [multiprocessing.get_context("fork").Process(target=_burn) for _ in range(n)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()


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
    # Pages of libraries that other programs begin or cease to map change the sums by some 0.1 %.
    assert 0.995 * watch.highest[0] <= peak["pss_bytes"] <= 1.05 * watch.plateau[0]
    assert peak["private_bytes"] >= n_children * megabytes * 1e6
    assert peak["private_bytes"] + peak["shared_bytes"] == peak["pss_bytes"]
    assert peak["pss_bytes"] + memory["saving_bytes"] == peak["rss_bytes"]
    assert not memory["is_at_least"]
