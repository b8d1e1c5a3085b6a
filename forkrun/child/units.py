"""The units of one child: which come next, and when it is time to end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from math import inf
from typing import Any

import numpy as np

from forkrun import _core
from forkrun.base.cpus import CpuShare
from forkrun.child.assignment import Assignment, BadEvent, stretch_without
from forkrun.child.commit import commit_stretch
from forkrun.child.pace import Pace, first_stretch
from forkrun.child.work import Work
from forkrun.config.anchor import is_url
from forkrun.config.model import ForkingConfig
from forkrun.index.model import Flags
from forkrun.monitoring.process_reading import ProcessReader
from forkrun.plan.model import Stretch
from forkrun.rundir.ledger import Ledger

_READ_MEMORY_EVERY_S = 1.0


class ChildUnits:
    """Gives stretches of units to the processor and commits them, on any threads and at the same
    time."""

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
        self.pace = make_pace(work)
        if self.pace.waits:
            first = work.shared.hand_out.first_units(child)
            work.job.schedule.source.expect(work.job.plan.units.joined_ranges(first))
        self._cpu_share = CpuShare()
        self._stretches = _stretches_to_do(work, child, assignment, self.pace)
        self._begun: dict[int, tuple[Stretch, int]] = {}
        self._life = _Life(work.job.config.forking)
        self.pace.most = self._life.n_left
        job = work.job
        self._has_company = job.schedule.reads_ahead or job.config.threads.per_child > 1
        """Whether the next stretch is taken before this one is done."""
        self._is_old = False
        self._begin_s: dict[int, float] = {}
        self._end_s = 0.0
        self.n_events_committed = 0

    def next(self) -> _core.UnitToDo | None:
        """The next units; one that was in flight when another child died runs alone."""
        _core.end_forked_copy()
        taken = None if self._is_old else next(self._stretches, None)
        if taken is None:
            return None
        stretch = self._work.job.plan.units.stretch(*taken)
        self._is_old = self._life.has_taken(stretch.n_events)
        self.pace.most = self._life.n_left
        number = stretch.first
        block_size = self.pace.block_of(stretch.n_events)
        self._begun[number] = stretch, block_size
        self._begin_s[number] = time.time()
        ranges = stretch_without(stretch.ranges, self._left_out(number))
        lumis = None if len(stretch.lumis[0]) < 2 else stretch.lumis
        alone = (self._has_company and self.pace.is_apart) or number in self._assignment.first
        iov = self._work.job.schedule.conditions.enter_unit(number)
        places = self._work.files.places(self._work.files.folder(number))
        dataset = self._work.job.plan.dataset_of(stretch)
        return _core.UnitToDo(
            number,
            stretch.run,
            stretch.lumi,
            ranges,
            places,
            iov,
            alone,
            lumis,
            block_size,
            dataset,
        )

    def commit(self, number: int, result: _core.UnitResult) -> None:
        """Commits what began with this unit. Its time begins where that of the one before ended,
        without overlap."""
        _core.end_forked_copy()
        begin_s = max(self._begin_s.pop(number), self._end_s)
        left_out, (stretch, block_size) = self._left_out(number), self._begun.pop(number)
        commit_s = time.thread_time()
        commit = commit_stretch(
            self._work, self._child, stretch, left_out, result, begin_s, block_size
        )
        commit_s = time.thread_time() - commit_s
        took = result.wall_s, result.cpu_s
        slowness, n_bytes = self._cpu_share.slowness(), result.n_column_bytes
        self._note_calls(commit.n_events, *took, n_bytes, slowness, result.n_blocks, commit_s)
        self._work.guard.after_unit()
        self._end_s = commit.end_s
        self._ledger.append(commit)
        self.n_events_committed += commit.n_events
        self._work.shared.board.beat(self._child)
        self._note_kept()
        self._tick()
        self._is_old = self._is_old or self._life.is_too_big()
        if self._work.shared.board.read(self._child).order != "proceed":
            self._processor.stop()

    def _note_calls(self, *took: Any) -> None:
        """Notes what a stretch has taken; tells the parent, while modules in Python are called."""
        pace = self.pace
        before = pace.n_calls, pace.calls_s, pace.fixed_s
        pace.note(*took)
        if self._work.job.schedule.modules:
            now = pace.n_calls, pace.calls_s, pace.fixed_s
            n_calls, calls_s, fixed_s = (b - a for a, b in zip(before, now, strict=True))
            self._work.shared.board.add_calls(self._child, round(n_calls), calls_s, fixed_s)

    def _note_kept(self) -> None:
        """Tells the parent which module in Python keeps most memory."""
        labels = [*self._work.job.schedule.modules]
        label, n_bytes = _core.most_kept() or ("", 0)
        if label in labels:
            number = labels.index(label) + 1
            per_event = max(n_bytes, 0) / max(self.n_events_committed, 1)
            self._work.shared.board.note_kept(self._child, number, round(per_event))

    def _left_out(self, number: int) -> tuple[BadEvent, ...]:
        return self._assignment.left_out.get(number, ())


def make_pace(work: Work) -> Pace:
    """Blocks of a size that the configuration gives, else by what calls of Python modules cost; of
    C++ modules alone as the source chooses."""
    n_children = len(work.job.plan.busy_children()) if work.shared.hand_out.is_shared else 1
    threads = work.job.config.threads
    measures = work.job.schedule.modules and not threads.block_size
    waits = any(is_url(name) for name in work.job.plan.files)
    block_size = None if measures else threads.block_size
    longest_s = min(work.job.config.recovery.hang_timeout / 10 or inf, 60.0)
    n_tried = first_stretch(work.job.plan.n_events, n_children, work.job.schedule.found.rate)
    return Pace(n_children, block_size, waits=waits, longest_block_s=longest_s, n_tried=n_tried)


def _stretches_to_do(
    work: Work, child: int, assignment: Assignment, pace: Pace
) -> Iterator[tuple[int, int]]:
    """First unit and number of units to do together, until the parent gives another order: first
    the units that were left by others."""
    hand_out = work.shared.hand_out
    first = hand_out.parts(assignment.first, assignment.alone, assignment.n_together)
    while work.shared.board.read(child).order == "proceed":
        taken = next(first, None) or hand_out.take_stretch(child, pace.n_wanted)
        if taken is None:
            return
        yield from _without(taken, work.shared.left_out)


def _without(taken: tuple[int, int], left_out: Flags) -> Iterator[tuple[int, int]]:
    """The same units but for those of files that cannot be read."""
    first, n_units = taken
    bad = left_out[first : first + n_units]
    if not bad.any():
        yield taken
        return
    begins = np.flatnonzero(np.diff(bad, prepend=True))
    for begin, end in zip(begins, np.append(begins, n_units)[1:], strict=True):
        if not bad[begin]:
            yield first + int(begin), int(end - begin)


class _Life:
    """When a child has become too old or too big: it ends, and its parent forks it again."""

    def __init__(self, forking: ForkingConfig) -> None:
        self._forking = forking
        self.n_left = forking.recycle_events if forking.children else 0
        """Events that this child may take yet; 0: any number."""
        self._read_at_s = 0.0

    def has_taken(self, n_events: int) -> bool:
        """Whether the child takes no more after these events."""
        if not self.n_left:
            return False
        self.n_left = max(self.n_left - n_events, 0)
        return not self.n_left

    def is_too_big(self) -> bool:
        """Whether the child ends for its memory."""
        most_bytes = self._forking.recycle_memory
        return bool(self._forking.children) and most_bytes is not None and self._is_big(most_bytes)

    def _is_big(self, most_bytes: int) -> bool:
        if time.monotonic() < self._read_at_s:
            return False
        self._read_at_s = time.monotonic() + _READ_MEMORY_EVERY_S
        reading = ProcessReader().read(os.getpid())
        return reading is not None and reading.private_bytes >= most_bytes
