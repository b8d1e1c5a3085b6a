"""Transition callbacks of Python modules; units that overlap, seen from Python."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import uproot

from forkrun import _core
from forkrun.modules.base import Analyzer, Producer
from forkrun.modules.block import EventBlock
from forkrun.modules.python_module import PythonModule
from tests.schedule.test_core import EXECUTORS, Job, settings
from tests.support.files import write_events
from tests.support.jobs import forkrun, jets_job, module, write_job


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
        ("end run", 1),  # what it fills is committed with the unit
        ("end iov", 3),
        ("begin iov", 4),
        ("begin run", 1),
        ("begin lumi", 1, 2),
        ("block", 4, 1, 2, [3]),
        ("end lumi", 1, 2),
        ("end run", 1),
        ("end iov", 4),
        ("begin iov", 4),
        ("begin run", 2),
        ("begin lumi", 2, 1),
        ("block", 4, 2, 1, [4]),
        ("end lumi", 2, 1),
        ("end run", 2),
        ("end iov", 4),
    ]


class Events(Producer):
    """Runs ahead: it has no transition callbacks."""

    produces = {"doubled": "uint64"}

    def produce(self, block: EventBlock) -> Mapping[str, Any]:
        return {"doubled": 2 * block.events}


class Doubled(Listener):
    consumes = ("doubled",)

    def analyze(self, block: EventBlock) -> None:
        self.notes.append(("block", block.run, block.lumi, list(block["doubled"])))


def process(
    job: Job,
    executor: Any,
    threads: int,
    units: int,
    before_commit: Callable[[int], None] = lambda number: None,
) -> list[tuple[int, int]]:
    """(number, events) of the units that were committed."""
    source = job.source()
    schedule = job.builder.compile()
    processor = _core.Processor(schedule, source, settings(executor, threads, 2, units))
    ranges = iter(enumerate(job.ranges))
    committed: list[tuple[int, int]] = []

    def next_unit() -> _core.UnitToDo | None:
        for number, (run, lumi, first, last, _) in ranges:
            return _core.UnitToDo(number, run, lumi, [(0, first, last)], {})
        return None

    def commit(number: int, result: _core.UnitResult) -> None:
        before_commit(number)
        committed.append((number, result.read.count))

    processor.run(next_unit, commit)
    return committed


LUMIS = [(1 + lumi // 5, lumi, 1 + lumi % 4) for lumi in range(20)]


@pytest.mark.parametrize(("executor", "threads"), EXECUTORS)
def test_units_that_overlap_tell_a_module_the_same_as_one_after_another(
    tmp_path: Path, executor: str, threads: int
) -> None:
    notes = []
    for arguments in (("serial", 1, 1), (executor, threads, 4)):
        job = Job(write_events(tmp_path / "events.root", LUMIS))
        listener = Doubled()
        job.add("events", PythonModule(Events()))
        job.add("listener", PythonModule(listener))
        committed = process(job, *arguments)
        assert committed == [(number, n_events) for number, (_, _, n_events) in enumerate(LUMIS)]
        notes.append(listener.notes)
    assert notes[1] == notes[0]
    assert notes[0][:4] == [
        ("begin iov", 0),
        ("begin run", 1),
        ("begin lumi", 1, 0),
        ("block", 1, 0, [2]),
    ]


@pytest.mark.parametrize(("executor", "threads"), EXECUTORS)
def test_what_a_commit_raises_comes_out_of_the_run_as_it_is(
    tmp_path: Path, executor: str, threads: int
) -> None:
    job = Job(write_events(tmp_path / "events.root", LUMIS))
    committed: list[int] = []

    def fail(number: int) -> None:
        if number == 7:
            raise OSError(28, "no space")
        committed.append(number)

    with pytest.raises(OSError, match="no space"):
        process(job, executor, threads, 4, fail)
    assert committed == list(range(7))


def test_an_event_that_kills_in_a_unit_begun_ahead_is_the_one_that_is_left_out(
    tmp_path: Path,
) -> None:
    lumis = [(1, lumi, 4) for lumi in range(1, 25)]
    job = jets_job([write_events(tmp_path / "events.root", lumis)])
    killer = 50  # the second of lumi 13
    job["modules"].append(module("kills", "Fails", event=killer, how="SIGKILL"))
    job["paths"] = {"all": ["kills"]}
    job["outputs"] = [{"label": "all", "paths": ["all"]}]
    job["threads"] = {"per_child": 4, "block_size": 2}
    job["recovery"] = {"on_bad_event": "skip"}
    ended = forkrun("run", write_job(tmp_path, job), "-o", "out", cwd=tmp_path)
    assert ended.code == 8, ended.err
    assert json.loads((tmp_path / "out/failedLumis.json").read_text()) == {"1": [[13, 13]]}
    with uproot.open(tmp_path / "out/output/all.root") as file:
        events = file["Events"]["event"].array(library="np")
    assert events.tolist() == [event for event in range(1, 97) if event != killer]
