"""Which units come next, without a message: counters in memory that parent and children share."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from itertools import pairwise

import numpy as np

from forkrun import _core
from forkrun.base.lumis import Integers, Keys
from forkrun.index.ranges import Flags
from forkrun.plan import ANY_CHILD, Plan


class UnitQueue:
    """Units still to be done, in plan order. Make it before the fork. `n_events` : (n,) of each;
    `goes_on` : (n,) bool, whether a unit may be processed together with the one before it in the
    queue, None: none may; `at_cluster` : (n,) bool, whether it begins with a cluster of the input,
    None: not known."""

    def __init__(
        self,
        numbers: Integers,
        n_events: Integers | None = None,
        goes_on: Flags | None = None,
        at_cluster: Flags | None = None,
    ) -> None:
        self._numbers = numbers
        self._counter = _core.UnitCounter(len(numbers))
        sizes = np.ones(len(numbers), dtype=np.int64) if n_events is None else n_events
        self._events_before = np.concatenate(([0], np.cumsum(sizes)))
        self._begins = _begins_of_stretches(numbers, goes_on)
        self._clusters = np.flatnonzero([] if at_cluster is None else at_cluster)

    def take(self, child: int) -> int | None:
        """The next unit for a child; None if there is none."""
        place = self._counter.take(child)
        return None if place is None else int(self._numbers[place])

    def take_stretch(
        self, child: int, wanted: Callable[[int], tuple[int, int]]
    ) -> tuple[int, int] | None:
        """Consecutive units for a child, one at least: the first and how many; None if there is
        none. `wanted` gives, for the number of events that are left, how many to take, and how many
        at most if they end with a cluster."""
        counter = self._counter
        while (place := counter.n_taken) < counter.end:
            n_events = wanted(int(self._events_before[counter.end] - self._events_before[place]))
            n_taken = counter.take(child, place, self._n_units(place, *n_events))
            if n_taken:
                return int(self._numbers[place]), n_taken
        return None

    def _n_units(self, place: int, n_events: int, to_cluster: int) -> int:
        """As many units as have at most `n_events`, one at least, up to where a stretch ends; some
        less, or more with at most the events `to_cluster`, if it then ends with a cluster, of which
        nobody reads a part twice."""
        n, most = (max(self._place_after(place, n) - place, 1) for n in (n_events, to_cluster))
        end = int(self._begins[self._begins.searchsorted(place, side="right")])
        first, last = self._clusters.searchsorted((place + max(n // 2, 1), place + most + 1))
        near = self._clusters[first:last]
        if len(near) and place + n < end:
            n = int(near[np.argmin(np.abs(near - (place + n)))]) - place
        return max(min(place + n, end) - place, 1)

    def _place_after(self, place: int, n_events: int) -> int:
        """The last place with at most so many events between the given one and it."""
        most = self._events_before[place] + n_events
        return int(self._events_before.searchsorted(most, side="right")) - 1

    def taken_by(self, child: int) -> list[int]:
        """All units that a child has taken so far, committed or not."""
        units: list[int] = self._numbers[self._counter.taken_by(child)].tolist()
        return units

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
    `is_shared`, else one for each. `goes_on`, `at_cluster` : (n_units,) bool, whether a unit may be
    processed together with the one before, and whether it begins with a cluster of the input;
    None: none may, and not known."""

    def __init__(
        self,
        plan: Plan,
        to_do: Flags,
        goes_on: Flags | None = None,
        at_cluster: Flags | None = None,
    ) -> None:
        self._lumi_key = plan.units.lumi_key
        self.is_shared = plan.is_shared
        self._goes_on = goes_on
        children, n_events = plan.busy_children(), plan.units.n_events

        def queue_of(child: int) -> UnitQueue:
            numbers = plan.units_of(child)
            numbers = numbers[to_do[numbers]]
            joined = None if goes_on is None else goes_on[numbers]
            begins = None if at_cluster is None else at_cluster[numbers]
            return UnitQueue(numbers, n_events[numbers], joined, begins)

        if self.is_shared:
            self._queues = dict.fromkeys(children, queue_of(ANY_CHILD))
        else:
            self._queues = {child: queue_of(child) for child in children}

    def parts(
        self, units: Sequence[int], alone: Container[int], n_together: int
    ) -> Iterator[tuple[int, int]]:
        """Units that are done again, in the order given, as first unit and number of units to do
        together, at most `n_together`. `alone`: units that are not joined to others."""
        if not units:
            return
        numbers = np.array(units, dtype=np.int64)
        joined = None if self._goes_on is None else self._goes_on[numbers]
        if joined is not None:
            is_alone = np.array([unit in alone for unit in units], dtype=np.bool_)
            joined &= ~is_alone
            joined[1:] &= ~is_alone[:-1]
        for first, end in pairwise(_begins_of_stretches(numbers, joined).tolist()):
            for place in range(first, end, n_together):
                yield int(numbers[place]), min(n_together, end - place)

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


def _begins_of_stretches(numbers: Integers, goes_on: Flags | None) -> Integers:
    """Places at which a stretch has to begin, and the number of all."""
    begins = np.ones(len(numbers) + 1, dtype=np.bool_)
    if goes_on is not None and len(numbers):
        begins[1:-1] = ~goes_on[1:] | (np.diff(numbers) != 1)
    return np.flatnonzero(begins)
