"""What one child does: units of the plan, one by one, without a word to anybody."""

from __future__ import annotations

import contextlib
import errno
import faulthandler
import os
import shutil
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from forkrun import _core
from forkrun.child.affinity import bind
from forkrun.child.assignment import Assignment, BadEvent, Purpose, without
from forkrun.child.fault_injection import Chaos
from forkrun.child.hand_out import HandOut
from forkrun.conditions.guard import ConditionGuard
from forkrun.config import Executor, ForkingConfig, JobConfig
from forkrun.errors import ForkrunError, InputError, JobError, OutputError
from forkrun.fork.failure import FailureNote
from forkrun.monitoring import Timeline, sample_self
from forkrun.monitoring.process_reading import ProcessReader
from forkrun.monitoring.timing.record import write_timing
from forkrun.parent.hang_watch import PYTHON_STACKS
from forkrun.plan import Plan, Unit
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit, SkippedEvent
from forkrun.rundir.ledger_writer import Ledger
from forkrun.rundir.unit_files import UnitFiles
from forkrun.schedule.build import JobSchedule

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
_LOOK_AT_MEMORY_EVERY_S = 1.0
_NO_EVENTS = _core.EventDigest().hex


@dataclass(frozen=True)
class Work:
    """Made in the parent, shared by all children."""

    folder: RunDirectory
    config: JobConfig
    plan: Plan
    schedule: JobSchedule
    hand_out: HandOut
    board: _core.StatusBoard
    failures: Sequence[FailureNote]
    """By child."""
    chaos: Chaos
    guard: ConditionGuard
    files: UnitFiles
    timeline: Timeline


def run_child(work: Work, child: int, assignment: Assignment) -> int:
    """The body of a forked child. Gives its exit code; an error is left in its note."""
    try:
        work.board.obey_only(child, os.getppid())
        faulthandler.register(PYTHON_STACKS, file=sys.stderr, all_threads=True)
        if work.config.forking.cpu_affinity:
            bind(child, work.config.threads.per_child)
        if assignment.purpose is Purpose.PROBE:
            probe(work, child, assignment)
        else:
            process_units(work, child, assignment)
        return 0
    except BaseException as error:  # sys.exit() in a module as well
        if work.board.read(child).state != "finishing":  # what failed at the end is told apart
            work.board.set_state(child, "failed")
        told = as_forkrun_error(error)
        work.failures[child].write(told)
        with contextlib.suppress(OSError):  # its log may be on the disk that is full
            traceback.print_exc(file=sys.stderr)
        return told.exit_code


def as_forkrun_error(error: BaseException) -> ForkrunError:
    """The error of a person's module, input or disk, with the right exit code."""
    if isinstance(error, ForkrunError):
        return error
    if isinstance(error, _core.OutputError):
        return OutputError(str(error))
    if isinstance(error, _core.InputError):
        return InputError(str(error))
    if isinstance(error, _core.Error):
        return JobError(str(error))
    if isinstance(error, OSError) and error.errno in _NO_SPACE:
        return OutputError(f"cannot write: {error}; free space, or choose another place with -o")
    return JobError(f"{type(error).__name__}: {error}")


def process_units(
    work: Work, child: int, assignment: Assignment, tick: Callable[[], None] = lambda: None
) -> None:
    """Processes and commits units until there are no more, or the parent's order ends it. `tick` is
    called after each."""
    work.timeline.record("child_started", child=child, pid=os.getpid())
    ledger = Ledger(work.files.ledgers, child)
    processor = _begin(work, child, work.config)
    work.timeline.record("child_first_event", child=child, pid=os.getpid())
    units = _Units(work, child, assignment, processor, ledger, tick)
    try:  # noqa: SIM105 -- a context manager is one more thing of Python that every child copies
        processor.run(units.next, units.commit)
    except _core.Stopped:
        pass
    _end(work, child, processor)
    ledger.close()
    if work.config.forking.children:
        sample_self(work.folder.path, child, work.board.read(child).n_events_done)


def _begin(work: Work, child: int, config: JobConfig) -> _core.Processor:
    _core.claim_process()
    work.board.set_state(child, "starting")
    work.schedule.core.post_fork(child)
    processor = work.schedule.make_processor(config, work.board, child)
    work.schedule.core.begin_job()
    work.schedule.clear_histograms()
    work.board.set_state(child, "processing")
    return processor


def _end(work: Work, child: int, processor: _core.Processor) -> None:
    work.board.set_state(child, "finishing")
    processor.finish()
    if work.config.monitoring.timing or work.config.monitoring.trace:
        write_timing(processor, work.folder.path, child, work.config.monitoring.trace)
    work.schedule.core.end_job()
    work.guard.check()
    work.board.set_state(child, "done")


def _numbers(work: Work, child: int, assignment: Assignment) -> Iterator[int]:
    """Of the units to do, first those that others left, while the parent has no other wish."""
    queue = work.hand_out.queue(child)
    first = iter(assignment.first)
    while work.board.read(child).order == "go_on":
        number = next(first, None)
        number = queue.take(child) if number is None else number
        if number is None:
            return
        yield number


class _Units:
    """Gives units to the processor and commits them: on any thread, both at the same time."""

    def __init__(
        self,
        work: Work,
        child: int,
        assignment: Assignment,
        processor: _core.Processor,
        ledger: Ledger,
        tick: Callable[[], None],
    ) -> None:
        self._work, self._child, self._assignment = work, child, assignment
        self._processor, self._ledger, self._tick = processor, ledger, tick
        self._numbers = _numbers(work, child, assignment)
        self._life = _Life(work.config.forking)
        self._is_old = False
        self._begin_s: dict[int, float] = {}
        self._end_s = 0.0

    def next(self) -> _core.UnitToDo | None:
        """What others have left was in work when they died: alone, it shows whether it kills."""
        _core.end_forked_copy()
        number = None if self._is_old else next(self._numbers, None)
        if number is None:
            return None
        self._begin_s[number] = time.time()
        unit, folder = self._work.plan.units[number], self._work.files.folder(number)
        self._work.chaos.strike("begin", number, folder)
        ranges = without(unit.ranges, self._left_out(number))
        alone = number in self._assignment.first
        iov = self._work.schedule.conditions.enter_unit(number)
        places = self._work.files.places(folder)
        return _core.UnitToDo(number, unit.run, unit.lumi, ranges, places, iov, alone)

    def commit(self, number: int, result: _core.UnitResult) -> None:
        """Its time begins where that of the unit before has ended: they do not overlap."""
        _core.end_forked_copy()
        begin_s = max(self._begin_s.pop(number), self._end_s)
        left_out = self._left_out(number)
        commit = _commit(self._work, self._child, number, left_out, result, begin_s)
        self._work.guard.after_unit()
        self._end_s = commit.end_s
        self._ledger.append(commit)
        self._work.chaos.strike("after_ledger", number, self._work.files.folder(number))
        self._work.board.beat(self._child)
        self._tick()
        self._is_old = self._is_old or self._life.is_over(commit.n_events)
        if self._work.board.read(self._child).order != "go_on":
            self._processor.stop()

    def _left_out(self, number: int) -> tuple[BadEvent, ...]:
        return self._assignment.left_out.get(number, ())


class _Life:
    """When a child has become too old or too big: it ends, and its parent forks it again."""

    def __init__(self, forking: ForkingConfig) -> None:
        self._forking = forking
        self._n_events = 0
        self._look_at_s = 0.0

    def is_over(self, n_events: int) -> bool:
        """After so many more events."""
        self._n_events += n_events
        if not self._forking.children:
            return False
        if self._forking.recycle_events and self._n_events >= self._forking.recycle_events:
            return True
        return self._forking.recycle_memory is not None and self._is_big(
            self._forking.recycle_memory
        )

    def _is_big(self, most_bytes: int) -> bool:
        if time.monotonic() < self._look_at_s:
            return False
        self._look_at_s = time.monotonic() + _LOOK_AT_MEMORY_EVERY_S
        reading = ProcessReader().read(os.getpid())
        return reading is not None and reading.private_bytes >= most_bytes


def probe(work: Work, child: int, assignment: Assignment) -> None:
    """Processes entries of a unit event by event and keeps nothing. The status board tells how far
    it came."""
    (number,) = assignment.first
    threads = work.config.threads.model_copy(update={"executor": Executor.SERIAL, "block_size": 1})
    monitoring = work.config.monitoring.model_copy(update={"timing": False, "trace": False})
    config = work.config.model_copy(update={"threads": threads, "monitoring": monitoring})
    processor = _begin(work, child, config)
    folder = work.files.probe_folder(number, child)
    try:
        unit = work.plan.units[number]._replace(ranges=assignment.entries)
        work.chaos.strike("begin", number, folder)
        places = work.files.places(folder)
        iov = work.schedule.conditions.enter_unit(number)
        processor.process(unit.number, unit.run, unit.lumi, unit.ranges, places, iov)
        processor.finish()
        work.schedule.core.end_job()
    except _core.Stopped:
        return
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    work.board.set_state(child, "done")


def _commit(
    work: Work,
    child: int,
    number: int,
    left_out: tuple[BadEvent, ...],
    result: _core.UnitResult,
    start_s: float,
) -> Commit:
    """One unit, with its outputs under their final names when this returns."""
    unit = work.plan.units[number]
    folder = work.files.folder(number)
    histograms = work.files.write_histograms(folder, work.schedule.take_histograms())
    work.chaos.strike("before_rename", number, folder)
    work.files.publish(folder)
    work.chaos.strike("after_rename", number, folder)
    return Commit(
        unit=number,
        child=child,
        pid=os.getpid(),
        run=unit.run,
        lumi=unit.lumi,
        n_events=result.read.count,
        digest=result.read.hex,
        skipped=tuple(
            SkippedEvent(e.event, work.plan.files[e.file], e.entry, e.cause) for e in left_out
        ),
        skipped_digest=_digest_of(unit, left_out),
        outputs={o.label: work.files.part(folder, o) for o in result.outputs},
        histograms=histograms,
        start_s=start_s,
        end_s=time.time(),
        wall_s=result.wall_s,
        cpu_s=result.cpu_s,
        read_calls=result.read_calls,
        read_bytes=result.read_bytes,
    )


def _digest_of(unit: Unit, left_out: tuple[BadEvent, ...]) -> str:
    if not left_out:
        return _NO_EVENTS
    digest = _core.EventDigest()
    digest.add(unit.run, unit.lumi, np.array([e.event for e in left_out], dtype=np.uint64))
    return digest.hex
