"""What a distribution means for reading: long reads, or the same clusters again and again."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from forkrun.base.lumis import Integers
from forkrun.plan import Plan
from forkrun.studies.simulation.hand_out import HandedOut, global_ranges
from forkrun.studies.simulation.layout import Layout


class Reads(Struct, frozen=True):
    """Consecutive entries that are read at a time, in entries of all files in a row: [first, last)
    : (n_reads,), with the `child` that reads them."""

    child: Integers
    first: Integers
    last: Integers

    @property
    def mean_entries(self) -> float:
        """Entries of a read, on average."""
        return int((self.last - self.first).sum()) / max(len(self.first), 1)

    def mean_clusters(self, layout: Layout) -> float:
        """Length of a read over that of a cluster, both on average."""
        return self.mean_entries * len(layout.cluster) / max(layout.n_entries, 1)

    def per_cluster(self, layout: Layout) -> float:
        """How many children read a cluster, and unzip it, on average over those that are read."""
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
    """Reads of stretches. Ranges of one that follow each other in a file are read as one."""
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
