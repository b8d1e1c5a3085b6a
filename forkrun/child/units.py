"""The units of one child: which comes next, and when it is time to end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator

from forkrun import _core
from forkrun.child.assignment import Assignment, BadEvent, without
from forkrun.child.commit import commit_unit
from forkrun.child.work import Work
from forkrun.config import ForkingConfig
from forkrun.monitoring.process_reading import ProcessReader
from forkrun.rundir.ledger_writer import Ledger

_READ_MEMORY_EVERY_S = 1.0


class ChildUnits:
    """Gives units to the processor and commits them, on any threads and at the same time."""

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
        self._numbers = _numbers_to_do(work, child, assignment)
        self._life = _Life(work.config.forking)
        self._is_old = False
        self._begin_s: dict[int, float] = {}
        self._end_s = 0.0

    def next(self) -> _core.UnitToDo | None:
        """The next unit; one that was in flight when another child died runs alone."""
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
        """Commits a unit. Its time begins where that of the one before ended, without overlap."""
        _core.end_forked_copy()
        begin_s = max(self._begin_s.pop(number), self._end_s)
        left_out = self._left_out(number)
        commit = commit_unit(self._work, self._child, number, left_out, result, begin_s)
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


def _numbers_to_do(work: Work, child: int, assignment: Assignment) -> Iterator[int]:
    """Numbers of units to do, first those left by others, until the parent gives another order."""
    queue = work.hand_out.queue(child)
    first = iter(assignment.first)
    while work.board.read(child).order == "go_on":
        number = next(first, None)
        number = queue.take(child) if number is None else number
        if number is None:
            return
        yield number


class _Life:
    """When a child has become too old or too big: it ends, and its parent forks it again."""

    def __init__(self, forking: ForkingConfig) -> None:
        self._forking = forking
        self._n_events = 0
        self._read_at_s = 0.0

    def is_over(self, n_events: int) -> bool:
        """Whether the child ends now, after `n_events` more events."""
        self._n_events += n_events
        if not self._forking.children:
            return False
        if self._forking.recycle_events and self._n_events >= self._forking.recycle_events:
            return True
        return self._forking.recycle_memory is not None and self._is_big(
            self._forking.recycle_memory
        )

    def _is_big(self, most_bytes: int) -> bool:
        if time.monotonic() < self._read_at_s:
            return False
        self._read_at_s = time.monotonic() + _READ_MEMORY_EVERY_S
        reading = ProcessReader().read(os.getpid())
        return reading is not None and reading.private_bytes >= most_bytes
