"""Which child does which units, and how long that takes."""

from __future__ import annotations

import heapq

import numpy as np

from forkrun.index.ranges import Integers
from forkrun.plan import Plan
from forkrun.studies.simulation.costs import Costs, Floats
from forkrun.studies.simulation.layout import Layout


def unit_times(plan: Plan, layout: Layout, costs: Costs, overhead_s: float) -> Floats:
    """(n_units,) of each, overhead included [s]."""
    first, last = global_ranges(plan, layout)
    before_s = np.concatenate(([0.0], np.cumsum(costs.of(first, last))))
    times: Floats = np.diff(before_s[plan.units.first_range]) + overhead_s
    return times


def global_ranges(plan: Plan, layout: Layout) -> tuple[Integers, Integers]:
    """(n_ranges,) first and last of each range, in entries of all files in a row."""
    shift = layout.file[plan.units.file]
    return plan.units.first + shift, plan.units.last + shift


def busy_times(plan: Plan, unit_s: Floats) -> Floats:
    """(children,) time that each child spends on its units [s]. Children begin together and wait
    for nothing: the longest is the wall time."""
    children = max(plan.children, 1)
    if plan.is_shared:
        return take_turns(unit_s, children)
    return np.bincount(plan.units.child, unit_s, minlength=children).astype(np.float64)


def take_turns(unit_s: Floats, children: int) -> Floats:
    """(children,) busy times where each unit, in plan order, goes to the child that is free
    first."""
    ends = [0.0] * children  # a heap
    for time_s in unit_s.tolist():
        heapq.heapreplace(ends, ends[0] + time_s)
    return np.sort(np.array(ends))[::-1]
