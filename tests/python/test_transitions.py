"""What Python modules are told of runs, lumis and IOVs."""

from __future__ import annotations

from pathlib import Path

import pytest

from forkrun.modules import Analyzer, EventBlock, PythonModule
from tests.python.files import write_events
from tests.python.test_core import EXECUTORS, Job


class Listener(Analyzer):
    """Notes messages and blocks as they come."""

    def __init__(self) -> None:
        self.notes: list[tuple[object, ...]] = []

    def begin_iov(self, iov: int) -> None:
        self.notes.append(("begin iov", iov))

    def end_iov(self, iov: int) -> None:
        self.notes.append(("end iov", iov))

    def begin_run(self, run: int) -> None:
        self.notes.append(("begin run", run))

    def end_run(self, run: int) -> None:
        self.notes.append(("end run", run))

    def begin_lumi(self, run: int, lumi: int) -> None:
        self.notes.append(("begin lumi", run, lumi))

    def end_lumi(self, run: int, lumi: int) -> None:
        self.notes.append(("end lumi", run, lumi))

    def analyze(self, block: EventBlock) -> None:
        self.notes.append(("block", block.iov, block.run, block.lumi, list(block.events)))


@pytest.mark.parametrize(("executor", "threads"), EXECUTORS)
def test_a_module_is_told_of_runs_lumis_and_iovs_around_their_events(
    tmp_path: Path, executor: str, threads: int
) -> None:
    job = Job(write_events(tmp_path / "events.root", [(1, 1, 2), (1, 2, 1), (2, 1, 1)]))
    listener = Listener()
    job.add("listener", PythonModule(listener))
    job.run(executor, threads, iovs=[3, 4, 4])
    assert listener.notes == [
        ("begin iov", 3),
        ("begin run", 1),
        ("begin lumi", 1, 1),
        ("block", 3, 1, 1, [1, 2]),
        ("end lumi", 1, 1),
        ("end iov", 3),
        ("begin iov", 4),
        ("begin lumi", 1, 2),
        ("block", 4, 1, 2, [3]),
        ("end lumi", 1, 2),
        ("end run", 1),
        ("begin run", 2),
        ("begin lumi", 2, 1),
        ("block", 4, 2, 1, [4]),
        ("end lumi", 2, 1),
        ("end run", 2),
        ("end iov", 4),
    ]
