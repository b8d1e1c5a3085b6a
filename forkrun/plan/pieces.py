"""Pieces of lumis, before they become units."""

from __future__ import annotations

import numpy as np

from forkrun.base.dataclass import dataclass
from forkrun.base.lumis import Integers
from forkrun.plan.model import Units


@dataclass(frozen=True)
class Pieces:
    """Ranges of entries as columns, in input order. Ranges of one lumi with the same `child` and
    `part` are one unit."""

    child: Integers
    part: Integers
    run: Integers
    lumi: Integers
    file: Integers
    first: Integers
    last: Integers

    def units(self, lumi_rank: Integers) -> Units:
        """Units in order of the lumis' ranks, then of children, then of parts. If there is no range
        at all, one empty unit, so that outputs have branches. `lumi_rank` : (n_ranges,)."""
        if not len(self.run):
            zero = np.zeros(1, dtype=np.int64)
            none = np.zeros(0, dtype=np.int64)
            return Units(zero, zero, zero, np.zeros(2, dtype=np.int64), none, none, none)
        order = np.lexsort((self.part, self.child, lumi_rank))
        rank, child, part, file, first, last = (
            column[order]
            for column in (lumi_rank, self.child, self.part, self.file, self.first, self.last)
        )
        begins_unit = _changes(rank) | _changes(child) | _changes(part)
        begins_range = begins_unit | _changes(file)
        begins_range[1:] |= last[:-1] != first[1:]
        firsts = np.flatnonzero(begins_range)
        lasts = np.append(firsts[1:], len(order)) - 1
        unit_firsts = np.flatnonzero(begins_unit)
        first_range = np.append(np.searchsorted(firsts, unit_firsts), len(firsts))
        of_unit = order[unit_firsts]
        return Units(
            child=child[unit_firsts],
            run=self.run[of_unit],
            lumi=self.lumi[of_unit],
            first_range=first_range,
            file=file[firsts],
            first=first[firsts],
            last=last[lasts],
        )


def _changes(column: Integers) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """(n,) whether a value differs from the one before; true for the first."""
    changes = np.ones(len(column), dtype=np.bool_)
    changes[1:] = column[1:] != column[:-1]
    return changes
