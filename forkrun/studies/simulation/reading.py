"""What a distribution means for reading: long stretches, or the same clusters again and again."""

from __future__ import annotations

import numpy as np

from forkrun.plan import Plan
from forkrun.studies.simulation.hand_out import global_ranges
from forkrun.studies.simulation.layout import Layout


def mean_read_entries(plan: Plan) -> float:
    """Consecutive entries that are read at a time: the mean over the ranges of all units."""
    return plan.n_events / max(len(plan.units.first), 1)


def cluster_reads(plan: Plan, layout: Layout) -> float:
    """How many units read a cluster, and unzip it, on average over the clusters that are read."""
    units = plan.units
    first, last = global_ranges(plan, layout)
    if not len(first):
        return 0.0
    begin, end = (
        np.searchsorted(layout.cluster, entry, side="right") - 1 for entry in (first, last - 1)
    )
    unit = np.repeat(np.arange(len(units)), np.diff(units.first_range))
    again = (unit[1:] == unit[:-1]) & (begin[1:] == end[:-1])
    n_reads = int((end - begin + 1).sum()) - int(again.sum())
    changes = np.zeros(len(layout.cluster) + 1, dtype=np.int64)
    np.add.at(changes, begin, 1)
    np.add.at(changes, end + 1, -1)
    return n_reads / int((np.cumsum(changes) > 0).sum())
