"""Which unit comes next, without a message: counters in memory that parent and children share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from forkrun import _core
from forkrun.index.ranges import Flags, Integers, Keys
from forkrun.plan import ANY_CHILD, Plan


class UnitQueue:
    """Units still to be done, in plan order. Make it before the fork."""

    def __init__(self, numbers: Integers) -> None:
        self._numbers = numbers
        self._counter = _core.UnitCounter(len(numbers))

    def take(self, child: int) -> int | None:
        """The next unit for a child; None if there is none."""
        place = self._counter.take(child)
        return None if place is None else int(self._numbers[place])

    def taken_by(self, child: int) -> list[int]:
        """All units that a child has taken so far, committed or not."""
        return [int(unit) for unit in self._numbers[self._counter.taken_by(child)]]

    @property
    def n_left(self) -> int:
        """Units that no child has taken."""
        return max(0, self._counter.end - self._counter.n_taken)

    def close(self, after: Callable[[int], int] | None = None) -> None:
        """No further unit is handed out; with `after`, none beyond the place that it gives for the
        number of units taken."""
        n_taken = self._counter.n_taken
        self._counter.end_at(n_taken if after is None else after(n_taken))

    def close_after_lumi(self, lumi_key: Keys) -> None:
        """Only what is left of lumis that have been begun is handed out. `lumi_key` : (n_units of
        the plan,) equal for units of one lumi."""
        keys = lumi_key[self._numbers]

        def end_of_lumi(n_taken: int) -> int:
            if not n_taken:
                return 0
            others = np.flatnonzero(keys[n_taken:] != keys[n_taken - 1])
            return n_taken + int(others[0]) if len(others) else len(keys)

        self.close(end_of_lumi)


class HandOut:
    """Units of a plan that are `to_do` : (n_units,) bool. One queue for all children if the plan
    `is_shared`, else one for each."""

    def __init__(self, plan: Plan, to_do: Flags) -> None:
        self._lumi_key = plan.units.lumi_key
        self.is_shared = plan.is_shared
        children = plan.busy_children()
        if self.is_shared:
            self._queues = dict.fromkeys(children, _queue(plan.units_of(ANY_CHILD), to_do))
        else:
            self._queues = {child: _queue(plan.units_of(child), to_do) for child in children}

    def queue(self, child: int) -> UnitQueue:
        """The queue from which a child takes its units."""
        return self._queues[child]

    @property
    def n_left(self) -> int:
        """Units that no child has taken."""
        return sum(queue.n_left for queue in set(self._queues.values()))

    def close(self) -> None:
        """No further unit is handed out."""
        for queue in set(self._queues.values()):
            queue.close()

    def close_after_lumi(self) -> None:
        """Only what is left of lumis that have been begun is handed out."""
        for queue in set(self._queues.values()):
            queue.close_after_lumi(self._lumi_key)


def _queue(units: Integers, to_do: Flags) -> UnitQueue:
    return UnitQueue(units[to_do[units]])
