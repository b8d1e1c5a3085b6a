"""Which units a child does next."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from forkrun.base.lumis import Integers
from forkrun.child.unit_queue import Taken, UnitQueue, Wanted, begins_of_stretches
from forkrun.index.model import Flags
from forkrun.plan.model import ANY_CHILD, Plan
from forkrun.plan.select import changes

_OWN_PART = 1 / 16
"""Part of an equal share of the events that each child has to itself, at least; then up to the end
of a cluster."""
_OWN_EVENTS = 32_768
"""Events that are enough for that: half of what a child takes before it knows what a call costs."""
_MOST_OWN = 1 / 8
"""Part of all events that children may have to themselves: should those of one take ten times as
long as others, it still ends with them."""
_MOST_OWN_IN_UNITS = 1 / 2
"""The same where each has so many units that others can help it."""
_OWN_PART_AFAR = 1 / 2
"""The same of files on servers, which a child asks for before it takes them; what others have to
help with is asked for twice."""
_MOST_OWN_AFAR = 3 / 4
_UNITS_TO_HELP = 64
"""Units of a part of which enough are left when others are done with the rest."""


class HandOut:
    """Units of a plan that are `to_do` : (n_units,) bool. Where the plan `is_shared` each child
    begins with some clusters of its own, so that not all of them read the first one; then it takes
    from the rest, and in the end what children have left of their own. Else each has a queue that
    nobody else takes from. `joins_previous`, `at_cluster` : (n_units,) bool, whether a unit may be
    processed together with the one before, and whether it begins with a cluster of the input; None:
    none may, and not known. `is_far` : (n_units,) bool, whether it is in a file on a server, of
    which children take whole clusters, so that no byte is sent twice."""

    def __init__(
        self,
        plan: Plan,
        to_do: Flags,
        joins_previous: Flags | None = None,
        at_cluster: Flags | None = None,
        is_far: Flags | None = None,
    ) -> None:
        may_begin = None if is_far is None or at_cluster is None else at_cluster | ~is_far
        begins_lumi = changes(plan.units.lumi_key) | changes(plan.dataset_of_units)
        self._piece = np.cumsum(begins_lumi)
        self._goes_on = joins_previous
        children, n_events = plan.busy_children(), plan.units.n_events

        def queue_of(numbers: Integers) -> UnitQueue:
            joined = None if joins_previous is None else joins_previous[numbers]
            begins = None if at_cluster is None else at_cluster[numbers]
            allowed = None if may_begin is None else may_begin[numbers]
            return UnitQueue(numbers, n_events[numbers], joined, begins, allowed)

        def to_do_of(child: int) -> Integers:
            numbers = plan.units_of(child)
            return numbers[to_do[numbers]]

        if plan.is_shared:
            numbers = to_do_of(ANY_CHILD)
            clusters = np.flatnonzero([] if at_cluster is None else at_cluster[numbers])
            is_remote = is_far is not None and bool(is_far[numbers].any())
            borders = _own_parts(n_events[numbers], clusters, len(children), is_remote=is_remote)
            parts = [queue_of(numbers[begin:end]) for begin, end in pairwise(borders)]
            self._rest: UnitQueue | None = queue_of(numbers[borders[-1] :])
            self._own = dict(zip(children, parts, strict=False))
        else:
            self._rest = None
            self._own = {child: queue_of(to_do_of(child)) for child in children}
        self._is_alone = len(children) == 1
        self._open = list(self._own)  # children whose own part is not done, as far as is known here

    @property
    def is_shared(self) -> bool:
        """Whether children take what others have left."""
        return self._rest is not None

    def take_stretch(self, child: int, wanted: Wanted) -> Taken | None:
        """Consecutive units for a child, one at least; None if there is none."""
        self._open = [other for other in self._open if self._own[other].n_left]
        queues = self._in_turn(child, self._open)
        n_left = sum(queue.n_events_left for queue in queues)
        for queue in queues:
            if taken := queue.take_stretch(child, wanted, n_left - queue.n_events_left):
                return taken
        return None

    def _in_turn(self, child: int, owners: Iterable[int]) -> list[UnitQueue]:
        """Queues from which a child may take, the first first: its own, the rest, then those of the
        other `owners`, from the next one on."""
        own = [self._own[child]] if child in self._own else []
        if self._rest is None:
            return own
        others = sorted(owners, key=lambda other: (other < child, other))
        return [*own, self._rest, *(self._own[other] for other in others if other != child)]

    def take_left(self, child: int) -> list[int]:
        """All units that nobody does if this child does not."""
        return [] if self.is_shared else list(iter(lambda: self._own[child].take(child), None))

    def first_units(self, child: int) -> Integers:
        """Units that this child takes before others, if it is not much slower than these."""
        own = [self._own[child]] if child in self._own else []
        queues = self._in_turn(child, ()) if self._is_alone else own
        return np.concatenate([np.empty(0, np.int64), *(queue.left for queue in queues)])

    def n_left_for(self, child: int) -> int:
        """Units that this child could take."""
        return sum(queue.n_left for queue in self._in_turn(child, self._own))

    def taken_by(self, child: int) -> Integers:
        """All units that a child has taken so far, committed or not."""
        queues = self._in_turn(child, self._own)
        return np.concatenate([queue.taken_by(child) for queue in queues])

    def parts(
        self, units: Sequence[int], alone: Container[int], n_together: int
    ) -> Iterator[Taken]:
        """Units that are processed again, in the order given, as first unit and number of units to
        do together, at most `n_together`. `alone`: units that are not joined to others."""
        if not units:
            return
        numbers = np.array(units, dtype=np.int64)
        joined = None if self._goes_on is None else self._goes_on[numbers]
        if joined is not None:
            is_alone = np.array([unit in alone for unit in units], dtype=np.bool_)
            joined &= ~is_alone
            joined[1:] &= ~is_alone[:-1]
        for first, end in pairwise(begins_of_stretches(numbers, joined).tolist()):
            for place in range(first, end, n_together):
                yield int(numbers[place]), min(n_together, end - place)

    @property
    def n_left(self) -> int:
        """Units that no child has taken."""
        return sum(queue.n_left for queue in self._queues())

    def close(self) -> None:
        """No further unit is handed out."""
        for queue in self._queues():
            queue.close()

    def close_after_lumi(self) -> None:
        """Only what is left of lumis that have been begun is handed out, and what lies between them
        in the part of a child; of a lumi that is in several places only where it has been begun."""
        taken = np.concatenate([queue.taken for queue in self._queues()])
        is_begun = np.isin(self._piece, self._piece[taken])
        for queue in self._queues():
            queue.close(is_begun)

    def _queues(self) -> list[UnitQueue]:
        return [*self._own.values(), *([] if self._rest is None else [self._rest])]


def _own_parts(
    n_events: Integers, clusters: Integers, n_children: int, *, is_remote: bool
) -> list[int]:
    """Places at which the own part of each child begins, and then the rest; the latter alone if
    there are too few clusters. `n_events` : (n,) of each unit; `clusters`: places at which one
    begins."""
    before = np.concatenate(([0], np.cumsum(n_events)))
    least = max(min(_OWN_PART * before[-1] / n_children, _OWN_EVENTS), 1)
    if is_remote:
        least = _OWN_PART_AFAR * before[-1] / n_children
    borders = [0]
    for _ in range(n_children if n_children > 1 else 0):
        found = int(np.searchsorted(before[clusters], before[borders[-1]] + least))
        if found == len(clusters):
            return [0]
        borders.append(int(clusters[found]))
    is_fine = min(np.diff(borders), default=0) >= _UNITS_TO_HELP
    most = _MOST_OWN_AFAR if is_remote else _MOST_OWN_IN_UNITS if is_fine else _MOST_OWN
    return borders if before[borders[-1]] <= most * before[-1] else [0]
