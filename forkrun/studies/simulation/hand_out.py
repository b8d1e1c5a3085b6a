"""Assignment of units to children, and the resulting times: units are handed out like in a job."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct

from forkrun.base.lumis import Integers
from forkrun.child.hand_out import HandOut
from forkrun.child.pace import Pace
from forkrun.index.ranges import Flags
from forkrun.plan import Plan
from forkrun.studies.simulation.costs import Costs, Floats
from forkrun.studies.simulation.layout import Layout, global_ranges

_FEW = 0.1
"""Share of units after one of the same child, below which each unit is taken by itself."""


class Overheads(Struct, frozen=True):
    """Costs in addition to the events: `stretch_s` for committing a stretch, `call_s` for each call
    of the modules. `block_size`: as in the configuration. `cpu_share`: CPU time divided by wall
    time, since the pace learns the cost of calls from CPU time."""

    stretch_s: float = 0.0
    call_s: float = 0.0
    block_size: int = 0
    cpu_share: float = 1.0

    def pace(self, n_children: int) -> Pace:
        """Pace of a child. Blocks only grow if calls have a cost."""
        grows = self.call_s and not self.block_size
        return Pace(n_children, None if grows else self.block_size)


class HandedOut(Struct, frozen=True):
    """`busy_s` : (children,) time of each child on its stretches [s]; children begin together and
    never wait, so the longest is the wall time. `first_unit`, `child` : (n_stretches,) of each
    stretch, in plan order."""

    busy_s: Floats
    first_unit: Integers
    child: Integers


def unit_times(plan: Plan, layout: Layout, costs: Costs) -> Floats:
    """(n_units,) total cost of each unit's events [s]."""
    first, last = global_ranges(plan, layout)
    before_s = np.concatenate(([0.0], np.cumsum(costs.of(first, last))))
    times: Floats = np.diff(before_s[plan.units.first_range])
    return times


def hand_out(
    plan: Plan, unit_s: Floats, overheads: Overheads, at_cluster: Flags | None = None
) -> HandedOut:
    """Hands out all units: the next stretch goes to the first free child. If units of one child are
    rarely consecutive, each is a stretch."""
    if plan.is_shared or _are_together(plan):
        return _hand_out_stretches(plan, unit_s, overheads, at_cluster)
    weights = unit_s + overheads.stretch_s + overheads.call_s
    busy_s = np.bincount(plan.units.child, weights, minlength=max(plan.children, 1))
    first_unit = np.arange(len(plan.units), dtype=np.int64)
    return HandedOut(busy_s.astype(np.float64), first_unit, plan.units.child)


def _are_together(plan: Plan) -> bool:
    child = plan.units.child
    n_following = int(np.count_nonzero(child[1:] == child[:-1]))
    return n_following >= _FEW * (len(child) - 1)


def _hand_out_stretches(
    plan: Plan, unit_s: Floats, overheads: Overheads, at_cluster: Flags | None
) -> HandedOut:
    everything = np.ones(len(plan.units), dtype=np.bool_)
    queues = HandOut(plan, everything, everything, at_cluster)
    children = plan.busy_children()
    paces = {child: overheads.pace(len(children) if plan.is_shared else 1) for child in children}
    before_s = np.concatenate(([0.0], np.cumsum(unit_s)))
    before = np.concatenate(([0], np.cumsum(plan.units.n_events)))
    busy_s = np.zeros(max(plan.children, 1))
    stretches: list[tuple[int, int]] = []  # first unit and child

    def take(child: int) -> float | None:
        """Time of this child's next stretch; None without one."""
        pace = paces[child]
        block = pace.block
        taken = queues.take_stretch(child, pace.n_wanted)
        if taken is None:
            return None
        first, end = taken[0], taken[0] + taken[1]
        n_events = int(before[end] - before[first])
        n_calls = max(-(-n_events // block), 1) if block else 1
        wall_s = float(before_s[end] - before_s[first]) + n_calls * overheads.call_s
        pace.note(n_events, wall_s, overheads.cpu_share * wall_s, 0)
        stretches.append((first, child))
        return wall_s + overheads.stretch_s

    _in_order_of_time(children, take, busy_s)
    first_unit, child_of = np.array(sorted(stretches), dtype=np.int64).reshape(-1, 2).T
    return HandedOut(busy_s, first_unit, child_of)


def _in_order_of_time(
    children: Sequence[int], take: Callable[[int], float | None], busy_s: Floats
) -> None:
    """Lets the first free child take a stretch, until none are left."""
    free = [(0.0, child) for child in children]  # a heap
    while free:
        now_s, child = free[0]
        taken_s = take(child)
        if taken_s is None:
            heapq.heappop(free)
            busy_s[child] = now_s
        else:
            heapq.heapreplace(free, (now_s + taken_s, child))


class Reads(Struct, frozen=True):
    """Consecutive entries read at a time, in entries of all files in a row: [first, last) :
    (n_reads,), with the `child` that reads them."""

    child: Integers
    first: Integers
    last: Integers

    @property
    def mean_entries(self) -> float:
        """Mean number of entries per read."""
        return int((self.last - self.first).sum()) / max(len(self.first), 1)

    def mean_clusters(self, layout: Layout) -> float:
        """Mean length of a read divided by the mean length of a cluster."""
        return self.mean_entries * len(layout.cluster) / max(layout.n_entries, 1)

    def per_cluster(self, layout: Layout) -> float:
        """Mean number of children that read and unzip a cluster, over all clusters read."""
        if not len(self.first):
            return 0.0
        in_order = np.lexsort((self.first, self.child))
        child, first, last = self.child[in_order], self.first[in_order], self.last[in_order]
        begin, end = (
            np.searchsorted(layout.cluster, entry, side="right") - 1 for entry in (first, last - 1)
        )
        again = (child[1:] == child[:-1]) & (begin[1:] == end[:-1])
        n_reads = int((end - begin + 1).sum()) - int(again.sum())
        changes = np.zeros(len(layout.cluster) + 1, dtype=np.int64)
        np.add.at(changes, begin, 1)
        np.add.at(changes, end + 1, -1)
        return n_reads / int((np.cumsum(changes) > 0).sum())


def reads_of(plan: Plan, layout: Layout, handed_out: HandedOut) -> Reads:
    """Reads of stretches. Ranges of a stretch that are adjacent in a file are one read."""
    units = plan.units
    first, last = global_ranges(plan, layout)
    n_ranges = np.diff(units.first_range[np.append(handed_out.first_unit, len(units))])
    stretch = np.repeat(np.arange(len(n_ranges)), n_ranges)
    is_new = np.ones(len(first), dtype=np.bool_)
    follows = (units.file[1:] == units.file[:-1]) & (first[1:] == last[:-1])
    is_new[1:] = ~follows | (stretch[1:] != stretch[:-1])
    begins = np.flatnonzero(is_new)
    ends = np.append(begins[1:], len(first)) - 1 if len(begins) else begins
    return Reads(handed_out.child[stretch[begins]], first[begins], last[ends])
