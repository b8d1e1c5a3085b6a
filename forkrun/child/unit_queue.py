"""Units that are taken one after the other, by any process, without a message: a counter in memory
that parent and children share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from forkrun import _core
from forkrun.base.lumis import Integers
from forkrun.index.model import Flags

Wanted = Callable[[int], tuple[int, int]]
"""Gives, for the number of events that are left, how many to take, and how many at most if they end
with a cluster of the input."""
Taken = tuple[int, int]
"""First of consecutive units, and how many."""


class UnitQueue:
    """Units still to be done, in plan order. Make it before the fork. `n_events` : (n,) of each;
    `joins_previous` : (n,) bool, whether a unit may be processed together with the one before it
    in the queue, None: none may; `at_cluster` : (n,) bool, whether it begins with a cluster of the
    input, None: not known; `may_begin` : (n,) bool, whether a stretch may begin with it, None: with
    any."""

    def __init__(
        self,
        numbers: Integers,
        n_events: Integers | None = None,
        joins_previous: Flags | None = None,
        at_cluster: Flags | None = None,
        may_begin: Flags | None = None,
    ) -> None:
        self._numbers = numbers
        self._counter = _core.UnitCounter(len(numbers))
        sizes = np.ones(len(numbers), dtype=np.int64) if n_events is None else n_events
        self._events_before = np.concatenate(([0], np.cumsum(sizes)))
        self._begins = begins_of_stretches(numbers, joins_previous)
        self._clusters = np.flatnonzero([] if at_cluster is None else at_cluster)
        self._may_begin = None if may_begin is None else np.flatnonzero(np.append(may_begin, True))

    def take(self, child: int) -> int | None:
        """The next unit for a child; None if there is none."""
        place = self._counter.take(child)
        return None if place is None else int(self._numbers[place])

    def take_stretch(self, child: int, wanted: Wanted, n_elsewhere: int = 0) -> Taken | None:
        """Consecutive units for a child, one at least; None if there is none. `n_elsewhere`: events
        that are left in other queues."""
        counter = self._counter
        while (place := counter.n_taken) < counter.end:
            n_left = int(self._events_before[counter.end] - self._events_before[place])
            n_units = self._n_units(place, *wanted(n_left + n_elsewhere))
            n_taken = counter.take(child, place, n_units)
            if n_taken:
                return int(self._numbers[place]), n_taken
        return None

    def _n_units(self, place: int, n_events: int, to_cluster: int) -> int:
        """Units with at most `n_events` together, one at least, up to where a stretch ends; some
        less, or more with at most the events `to_cluster`, if it then ends with a cluster, of which
        nobody reads a part twice."""
        n, most = (max(self._place_after(place, n) - place, 1) for n in (n_events, to_cluster))
        end = int(self._begins[self._begins.searchsorted(place, side="right")])
        first, last = self._clusters.searchsorted((place + max(n // 2, 1), place + most + 1))
        near = self._clusters[first:last]
        if len(near) and place + n < end:
            n = int(near[np.argmin(np.abs(near - (place + n)))]) - place
        if self._may_begin is not None:
            n = int(self._may_begin[self._may_begin.searchsorted(place + n)]) - place
        return max(min(place + n, end) - place, 1)

    def _place_after(self, place: int, n_events: int) -> int:
        """The last place with at most so many events between the given one and it."""
        most = self._events_before[place] + n_events
        return int(self._events_before.searchsorted(most, side="right")) - 1

    def taken_by(self, child: int) -> Integers:
        """All units that a child has taken so far, committed or not."""
        return self._numbers[self._counter.taken_by(child)]

    @property
    def taken(self) -> Integers:
        """All units that children have taken so far."""
        return self._numbers[: self._counter.n_taken]

    @property
    def left(self) -> Integers:
        """All units that no child has taken."""
        return self._numbers[self._counter.n_taken : self._counter.end]

    @property
    def n_left(self) -> int:
        """Units that no child has taken."""
        return max(0, self._counter.end - self._counter.n_taken)

    @property
    def n_events_left(self) -> int:
        """Events that no child has taken."""
        end = self._counter.end
        first = min(self._counter.n_taken, end)
        return int(self._events_before[end] - self._events_before[first])

    def close(self, wanted: Flags | None = None) -> None:
        """No further unit is handed out; with `wanted` : (n_units of the plan,) bool, none after
        the last of those."""
        end = self._counter.n_taken
        if wanted is not None:
            end += int(np.flatnonzero(wanted[self._numbers[end:]]).max(initial=-1)) + 1
        self._counter.end_at(end)


def begins_of_stretches(numbers: Integers, joins_previous: Flags | None) -> Integers:
    """Places at which a stretch has to begin, and the number of all."""
    begins = np.ones(len(numbers) + 1, dtype=np.bool_)
    if joins_previous is not None and len(numbers):
        begins[1:-1] = ~joins_previous[1:] | (np.diff(numbers) != 1)
    return np.flatnonzero(begins)
