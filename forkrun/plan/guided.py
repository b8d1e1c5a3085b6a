"""Units that any idle child takes: large at first, small towards the end of the job, so that
children finish together. Where units begin and end follows from the input and the settings, never
from the number of children."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from forkrun import _core
from forkrun.base.lumis import Integers
from forkrun.plan.model import ANY_CHILD
from forkrun.plan.pieces import Pieces
from forkrun.plan.select import Selected

_CHILDREN = 256
"""Children for which borders are fine enough. Fewer take more units at a time."""
_UNITS_LEFT = 12 * _CHILDREN
"""Units of the present size in what is left: so one whose events take ten times as long as the
others takes no longer than all that is left."""
_LAST_PART = 1 / 32
"""Part of a job that may be left while its last units are being processed."""
_SLACK = 1.25
"""Largest size of a unit over the wanted one, if it then ends with its lumi or a cluster."""


class UnitSizes(Struct, frozen=True):
    """How many events a unit should have where so many are left. `n_events`: of the job; `least`:
    of a unit of a lumi that is cut; `most`: of any unit."""

    n_events: int
    least: int = 1
    most: int | None = None

    def whole(self, n_left: Integers) -> Integers:
        """(n,) events up to which a lumi is one unit, where (n,) are left."""
        sizes = np.ceil((n_left + _LAST_PART * self.n_events) / _UNITS_LEFT)
        most: Integers = (_SLACK * np.maximum(sizes, self.least)).astype(np.int64)
        return np.minimum(most, self.limit)

    @property
    def limit(self) -> int:
        """Events that no unit exceeds."""
        return self.most or max(self.n_events, 1)

    def for_core(self) -> _core.UnitSizes:
        """The same for what cuts lumis."""
        return _core.UnitSizes(
            last=_LAST_PART * self.n_events,
            n_units_left=_UNITS_LEFT,
            slack=_SLACK,
            least=self.least,
            limit=self.limit,
        )


Clusters = Sequence[Sequence[int]]
"""First entry of each cluster, by file, in order, then the number of entries."""


def cut_for_all(
    selected: Selected, lumi_rank: Integers, sizes: UnitSizes, clusters: Clusters
) -> Pieces:
    """Whole lumis where they are small; others cut, at clusters where they begin near enough.
    `lumi_rank` : (n_ranges,) place in the plan of the lumi, or of the stretch of the input that is
    of one lumi."""
    order = np.argsort(lumi_rank, kind="stable")
    n_ranges_of = np.bincount(lumi_rank)
    n_events_of = np.zeros(len(n_ranges_of), dtype=np.int64)
    np.add.at(n_events_of, lumi_rank, selected.last - selected.first)
    n_left = sizes.n_events - (np.cumsum(n_events_of) - n_events_of)
    too_large = n_events_of > sizes.whole(n_left)
    is_cut = too_large[lumi_rank[order]]
    places = order[is_cut]
    cut = _core.cut_lumis(
        n_ranges_of[too_large],
        n_left[too_large],
        selected.file[places],
        selected.first[places],
        selected.last[places],
        clusters,
        sizes.for_core(),
    )
    source, part, first, last = cut.T
    whole = order[~is_cut]
    source = np.concatenate((whole, places[source]))
    return Pieces(
        child=np.full(len(source), ANY_CHILD, dtype=np.int64),
        part=np.concatenate((np.zeros(len(whole), dtype=np.int64), part)),
        source=source,
        first=np.concatenate((selected.first[whole], first)),
        last=np.concatenate((selected.last[whole], last)),
    )
