"""Numbers of events in the input: of each file, of those that a job reads, and of each lumi."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from forkrun.base.lumis import Integers, LumiCounts, dataset_lumi_keys, number_keys
from forkrun.index import LumiRanges
from forkrun.plan.lumi_mask import LumiMask, within
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


def count_lumis(
    ranges: LumiRanges, mask: LumiMask | None, datasets: Sequence[int] = ()
) -> LumiCounts:
    """Events of each lumi of each dataset within the mask, in order of the input. `datasets` :
    (n_files,) number of that of each file; none: they are one."""
    good = within(mask, ranges)
    of_file = np.array(datasets, dtype=np.int64)
    of_range = of_file[good.file] if datasets else np.zeros_like(good.run)
    first, lumi = number_keys(dataset_lumi_keys(good.lumi_key, of_range))
    n_events = np.zeros(len(first), dtype=np.int64)
    np.add.at(n_events, lumi, good.n_events)
    return LumiCounts(good.run[first], good.lumi[first], n_events, of_range[first])
