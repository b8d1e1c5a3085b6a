"""The children of a job: forked to process units until every unit is committed or the job has to
end.

The ledger of a child is the only proof of its work: units that it took and did not commit are
requeued, and the next forked child does them first. A child that ends with units left over, or
before it reports the end of its work, has crashed, regardless of its exit code. Before the job
ends, uncommitted units are searched for once more.
"""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from forkrun import _core
from forkrun.base.quantities import plural, size
from forkrun.child.assignment import Assignment, Purpose
from forkrun.child.work import Work
from forkrun.fork.supervisor import INTERVAL_S
from forkrun.parent.bad_files import BadFiles
from forkrun.parent.commits import Commits
from forkrun.parent.ending import Ending
from forkrun.parent.hang_watch import HangWatch
from forkrun.parent.memory_guard import Demand, MemoryGuard, Relief, find_limit
from forkrun.parent.observer import RunObserver
from forkrun.parent.recovery import Death, Dismissal, HopelessError, Recovery, words_of_end

_READ_EVERY_S = 1.0
_TOO_LARGE = 3
"""Number of stops of the last child for its memory, without a commit, before the job fails."""
_MOST = 0.5
"""Minimum fraction of the growth for which a module is blamed."""
_IDLE_ENDS = 3
"""Number of times that a child may end normally without any work done although units were left."""


def _together_with_first(lost: Sequence[int], assignment: Assignment) -> Sequence[int]:
    """Lost units of a child that may have been in flight with the first one."""
    if not lost or lost[0] in assignment.alone:
        return ()
    return lost[1 : assignment.n_together] if lost[0] in assignment.first else lost[1:]


def _n_events_done(status: _core.ChildStatus, n_before: int) -> int | None:
    """Events done by a child that has just ended; None if it had not started any."""
    return status.n_events_done - n_before if status.heartbeat_ns else None


class JobCrew:
    """Made before the first fork, in the parent. `assignments`: by child, read by the forked
    child."""

    def __init__(
        self,
        work: Work,
        commits: Commits,
        ending: Ending,
        observer: RunObserver,
        bad_files: BadFiles,
    ) -> None:
        settings = work.job.config.recovery
        self._shared = work.shared
        self._commits, self._ending, self._observer = commits, ending, observer
        self._recovery = Recovery(settings, work.job.plan.units, bad_files)
        self._hangs = HangWatch(work.shared.board, settings.hang_timeout, settings.grace)
        self._guard = MemoryGuard(find_limit(work.job.config.limits.memory), observer.memory)
        self._modules = [*work.job.schedule.modules]
        self._to_do = ~commits.is_done
        self._read_at_s = 0.0
        self._fork_s = 0.0

        self._free = work.job.plan.busy_children()
        self._at_work: set[int] = set()
        self.assignments: dict[int, Assignment] = {}
        self._dismissed: dict[int, Dismissal] = {}
        self._is_settled = np.zeros_like(self._to_do)  # taken by a child that has ended
        self._n_done: Counter[int] = Counter()
        self._n_begin: dict[int, int] = {}
        """Events done under each child number before its present fork."""
        self._n_idle_ends = 0
        self._n_too_large = 0
        """Number of last children stopped for their memory since the last commit."""

    @property
    def interval_s(self) -> float:
        """Time until the next tick; shorter where memory grows fast enough to pass the limit."""
        return min(INTERVAL_S, self._guard.interval_s)

    # --- forking ----------------------------------------------------------------------------------

    def due(self) -> list[int]:
        """Children to fork now; makes their assignments."""
        if words := self._ending.look_at_clock():
            self._observer.say(words)
        if not self._ending.may_fork:
            return []
        self._look_for_lost_units()
        due: list[int] = []
        for child in list(self._free):
            if self._recovery.is_busy or self._has_work(child, len(due)):
                self._assign(child)
                due.append(child)
        self._fork_s = time.time()
        return due

    def _has_work(self, child: int, n_due: int) -> bool:
        """Whether to fork a child: children that share a queue are at most as many as its units."""
        hand_out = self._shared.hand_out
        return hand_out.n_left_for(child) > (n_due if hand_out.is_shared else 0)

    def _assign(self, child: int) -> None:
        self.assignments[child] = self._recovery.assignment()
        self._n_begin[child] = self._commits.events_by_child.get(child, 0)
        self._shared.board.reset(child, self._n_begin[child])
        self._shared.failures[child].clear()
        self._n_done[child] = 0
        self._free.remove(child)
        self._at_work.add(child)

    def _look_for_lost_units(self) -> None:
        """Requeues unfinished units once no child works and none has work left: a unit taken at the
        instant of a death may be in no list."""
        if self._at_work or self._recovery.is_busy or self._shared.hand_out.n_left:
            return
        if not self._ending.signal_number:
            self._recovery.requeue(np.flatnonzero(self._to_do & ~self._commits.is_done).tolist())

    def started(self, child: int, pid: int) -> None:
        self._observer.started(child, pid, self._fork_s)
        self._hangs.started(child, time.monotonic())

    # --- ends of children -------------------------------------------------------------------------

    def ended(self, child: int, pid: int, exit_code: int) -> None:
        self._observer.ended(child, pid, exit_code)
        self._at_work.remove(child)
        dismissal = self._dismissed.pop(child, None)
        self._read_ledger(child)
        lost = self._lost_units(child)
        if dismissal is Dismissal.MEMORY:
            self._leave_work(child, lost)
            if not self._at_work and not self._free:
                self._begin_again(child, lost)
            return
        self._free.append(child)
        if not self._ending.may_fork:
            return
        try:
            self._answer(child, lost, self._death(child, exit_code, lost, dismissal))
        except HopelessError as error:
            self._ending.give_up(error)

    def _leave_work(self, child: int, lost: list[int]) -> None:
        """Requeues the units of a child that is not forked again, for the other children."""
        assignment = self.assignments[child]
        if assignment.purpose is Purpose.PROBE:
            self._recovery.repeat_probe(assignment.first[0])
        self._recovery.requeue([*lost, *self._shared.hand_out.take_left(child)])

    def _begin_again(self, child: int, lost: list[int]) -> None:
        """Forks the last child again: its memory is free now, and units that it processed together
        are divided. Gives up if that fails repeatedly."""
        self._free.append(child)
        self._n_too_large += 1
        if self._n_too_large >= _TOO_LARGE:
            unit = lost[0] if lost else None
            what = "what comes before the first event" if unit is None else f"unit {unit}"
            why = (
                f"{what} takes more memory than the limit allows, also in a child that has done"
                " nothing else: raise limits.memory, or lower threads.block_size"
            )
            words = f"it was ended for its memory {plural(self._n_too_large, 'time')}"
            self._ending.give_up(HopelessError(why, Death(child, unit, words)))

    def _read_ledger(self, child: int) -> None:
        n_done = self._commits.read_new(child)
        self._n_done[child] += n_done
        if n_done:
            self._recovery.progressed()
            self._n_idle_ends = self._n_too_large = 0

    def _lost_units(self, child: int) -> list[int]:
        """Units assigned to a child or taken since its fork, and not committed."""
        assignment = self.assignments[child]
        if assignment.purpose is Purpose.PROBE:
            return []
        taken = self._shared.hand_out.taken_by(child)
        taken = taken[~self._is_settled[taken]]
        self._is_settled[taken] = True
        units = np.concatenate((np.array(assignment.first, dtype=np.int64), taken))
        is_settled = self._commits.is_done | self._shared.left_out
        lost: list[int] = units[~is_settled[units]].tolist()
        return lost

    def _death(
        self, child: int, exit_code: int, lost: list[int], dismissal: Dismissal | None
    ) -> Death | None:
        """Describes a death; None if the child finished its work, or ended on order."""
        status, assignment = self._shared.board.read(child), self.assignments[child]
        is_done = status.state == "done" and not (lost and status.order == "proceed")
        if is_done and not exit_code and dismissal is None:
            return None
        if assignment.purpose is Purpose.PROBE:
            lost = list(assignment.first)
        error = self._shared.failures[child].read()
        is_elsewhere = assignment.purpose is Purpose.PROBE and status.crashed_elsewhere
        words = words_of_end(exit_code, error is not None)
        if is_elsewhere:
            words += " in a thread of a library, which calls no module"
        return Death(
            child,
            lost[0] if lost else None,
            self._hangs.words if dismissal is Dismissal.HANG else words,
            error,
            _n_events_done(status, self._commits.events_by_child.get(child, 0)),
            status.first_event,
            exit_code,
            status,
            tuple(_together_with_first(lost, assignment)),
            is_elsewhere,
        )

    def _answer(self, child: int, lost: list[int], death: Death | None) -> None:
        if self.assignments[child].purpose is Purpose.PROBE:
            (unit,) = self.assignments[child].first
            self._report(child, death, self._recovery.probed(unit, death))
            return
        self._recovery.requeue(unit for unit in lost if death is None or unit != death.unit)
        if death:
            self._report(child, death, self._recovery.died(death))
        elif not self._n_done[child] and self._shared.hand_out.n_left_for(child):
            self._count_idle_end(child)

    def _count_idle_end(self, child: int) -> None:
        self._n_idle_ends += 1
        if self._n_idle_ends >= _IDLE_ENDS * len(self._shared.board):
            why = "children end without having done any of the units that are left"
            raise HopelessError(why, Death(child, None, "it ended well, without a unit"))

    def _report(self, child: int, death: Death | None, answer: str) -> None:
        what = f"child {child} died ({death.cause})" if death else f"child {child} tried"
        self._observer.recovered(child, death, f"{what}: {answer}")

    # --- while children run -----------------------------------------------------------------------

    def signalled(self, number: int) -> None:
        self._observer.say(self._ending.signalled(number))

    def tick(self, running: Mapping[int, int]) -> Mapping[int, int]:
        self._observer.tick()
        self._read_ledgers_if_due(running)
        if signals := self._ending.tick(running):
            return signals
        return {**self._end_hanging(running), **self._relieve_memory(running)}

    def _read_ledgers_if_due(self, running: Mapping[int, int]) -> None:
        """Reads the ledgers if there is a deadline, which depends on the units' time and size."""
        now_s, begin_s = time.monotonic(), time.thread_time()
        if self._ending.has_deadline and now_s > self._read_at_s:
            for child in running:
                self._read_ledger(child)
            self._read_at_s = now_s + _READ_EVERY_S + 20 * (time.thread_time() - begin_s)

    def _end_hanging(self, running: Mapping[int, int]) -> dict[int, int]:
        signals = self._hangs.tick(running, time.monotonic())
        for child, number in signals.items():
            if number == signal.SIGTERM:
                self._dismissed[child] = Dismissal.HANG
                self._observer.say(f"child {child}: {self._hangs.words}; its stacks are in its log")
        return signals

    def _relieve_memory(self, running: Mapping[int, int]) -> dict[int, int]:
        demand = self._guard.check(running, self._n_events_done)
        if demand is None:
            return {}
        if demand.relief is Relief.LATER:
            of_module = self._kept_by(demand.child, demand.per_event_bytes)
            self._observer.warn(f"{demand.words}{of_module}", "memory grows")
            return {}
        if demand.relief is Relief.KILL:
            return self._retire(demand)
        if demand.relief is Relief.NONE:
            why = "the parent alone has most of it: raise limits.memory, or load less"
            self._ending.give_up(HopelessError(why, Death(demand.child, None, demand.words)))
            return dict.fromkeys(running, signal.SIGKILL)
        self._shared.board.give_order(demand.child, "end_after_unit")
        said = f"{demand.words}{self._per_event(demand)}"
        self._observer.say(f"{said}; it is forked again after its unit")
        return {}

    def _per_event(self, demand: Demand) -> str:
        """Memory left by each event, if a child keeps any."""
        n_done = self._shared.board.read(demand.child).n_events_done - self._n_begin[demand.child]
        if n_done <= 0:
            return ""
        per_event = demand.private_bytes / n_done
        each = f", {size(per_event)} for each of {plural(n_done, 'event')}"
        return f"{each}{self._kept_by(demand.child, per_event)}"

    def _kept_by(self, child: int, per_event: float) -> str:
        """Python module that keeps most of the memory left by each event in a child."""
        status = self._shared.board.read(child)
        if not status.kept_by:
            return ""
        label, kept = self._modules[status.kept_by - 1], status.kept_per_event_bytes
        if kept < _MOST * per_event:
            return ", most of it outside of modules in Python"
        return f', of which module "{label}" keeps {size(min(kept, per_event))}'

    def _n_events_done(self) -> int:
        board = self._shared.board
        return sum(board.read(child).n_events_done for child in range(len(board)))

    def _retire(self, demand: Demand) -> dict[int, int]:
        self._dismissed[demand.child] = Dismissal.MEMORY
        left = len(self._at_work) + len(self._free) - 1
        others = f"{plural(left, 'child')} {'continues' if left == 1 else 'continue'}"
        what = f"it is ended, {others}" if left else "it is ended, and forked again"
        self._observer.say(f"{demand.words}{self._per_event(demand)}; {what}")
        return {demand.child: signal.SIGKILL}
