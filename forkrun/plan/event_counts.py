"""How many events of each input file there are, and how many of them a job reads."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from forkrun.base.lumis import Integers
from forkrun.index import LumiRanges
from forkrun.plan.model import Units


class EventCounts(Struct, frozen=True, eq=False):
    """(n_files,) each. `counted`: all but those without a partner in a friend, which are left out
    as by a filter; `left`: without those that are there before; `read`: of these what skip_events
    and max_events leave. A lumi mask holds for data, for which nobody asks."""

    counted: Integers
    left: Integers
    read: Integers

    @classmethod
    def of(cls, n_files: int, counted: LumiRanges, left: LumiRanges, units: Units) -> EventCounts:
        """Counts of a plan."""
        return cls(*(_by_file(ranges, n_files) for ranges in (counted, left, units)))


def _by_file(ranges: LumiRanges | Units, n_files: int) -> Integers:
    n_events = np.zeros(n_files, dtype=np.int64)
    np.add.at(n_events, ranges.file, ranges.last - ranges.first)
    return n_events
