"""Units that any idle child takes: large at first, small towards the end of the job, so that
children finish together. Where units begin and end follows from the input and the settings, never
from the number of children."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from math import ceil

import numpy as np

from forkrun.base.dataclass import dataclass
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
LEAST = 10
"""Events of a unit of a lumi that is cut, where nothing is said."""
_SLACK = 1.25
"""Largest size of a unit over the wanted one, if it then ends with its lumi or a cluster."""


@dataclass(frozen=True)
class UnitSizes:
    """How many events a unit should have where so many are left. `n_events`: of the job; `least`:
    of a unit of a lumi that is cut; `most`: of any unit."""

    n_events: int
    least: int = LEAST
    most: int | None = None

    def wanted(self, n_left: int) -> int:
        """Wanted events of a unit, where so many are left."""
        size = ceil((n_left + _LAST_PART * self.n_events) / _UNITS_LEFT)
        return min(max(size, self.least), self.limit)

    def whole(self, n_left: Integers) -> Integers:
        """(n,) events up to which a lumi is one unit, where (n,) are left."""
        sizes = np.ceil((n_left + _LAST_PART * self.n_events) / _UNITS_LEFT)
        most: Integers = (_SLACK * np.maximum(sizes, self.least)).astype(np.int64)
        return np.minimum(most, self.limit)

    @cached_property
    def limit(self) -> int:
        """Events that no unit exceeds."""
        return self.most or max(self.n_events, 1)


Clusters = Sequence[Sequence[int]]
"""For each file: the first entry of each cluster, in order, then the number of entries."""


def cut_for_all(
    selected: Selected, lumi_rank: Integers, sizes: UnitSizes, clusters: Clusters
) -> Pieces:
    """Whole lumis where they are small; others cut, at clusters where they begin near enough.
    `lumi_rank` : (n_ranges,) place of the range's lumi in the plan."""
    order = np.argsort(lumi_rank, kind="stable")
    n_ranges_of = np.bincount(lumi_rank)
    n_events_of = np.zeros(len(n_ranges_of), dtype=np.int64)
    np.add.at(n_events_of, lumi_rank, selected.last - selected.first)
    n_left = sizes.n_events - (np.cumsum(n_events_of) - n_events_of)
    first_place = np.cumsum(n_ranges_of) - n_ranges_of
    too_large = n_events_of > sizes.whole(n_left)
    cut = []
    for lumi in np.flatnonzero(too_large).tolist():
        places = order[first_place[lumi] : first_place[lumi] + n_ranges_of[lumi]]
        cut += _cut_lumi(selected, places.tolist(), int(n_left[lumi]), sizes, clusters)
    whole = order[~too_large[lumi_rank[order]]]
    return _joined(selected, whole, cut)


_Cut = tuple[int, int, int, int]
"""Place of the range in the selection, part, first, last."""


def _cut_lumi(
    selected: Selected,
    places: list[int],
    n_left: int,
    sizes: UnitSizes,
    clusters: Clusters,
) -> list[_Cut]:
    columns = (selected.file[places], selected.first[places], selected.last[places])
    ranges = list(zip(places, *(column.tolist() for column in columns), strict=True))
    n_events = sum(last - first for *_, first, last in ranges)
    limit = sizes.limit
    part, missing, room = 0, _share(n_events, n_left, sizes), limit
    cut = []
    for place, file, first, last in ranges:
        while first < last:
            end = min(_end(first, last, missing, clusters[file]), first + room)
            cut.append((place, part, first, end))
            taken = end - first
            n_events, n_left = n_events - taken, n_left - taken
            missing, room = missing - taken, room - taken
            if end < last or 2 * missing <= taken:
                part, missing, room = part + 1, _share(n_events, n_left, sizes), limit
            first = end
    return cut


def _share(n_events: int, n_left: int, sizes: UnitSizes) -> int:
    """Events of the next unit of a lumi that has `n_events` left: so many that no small rest
    remains."""
    wanted = sizes.wanted(n_left)
    parts = max(round(n_events / wanted), ceil(n_events / min(_SLACK * wanted, sizes.limit)), 1)
    return -(-n_events // parts)


def _end(first: int, last: int, wanted: int, clusters: Sequence[int]) -> int:
    """Where a unit that begins with the range [first, last) ends: where a cluster does, if that is
    near the wanted size; else so that units of equal sizes end there. The end of the range is one,
    too."""
    target = first + max(wanted, 1)
    if target >= last:
        return last
    after = bisect_left(clusters, target)
    end = clusters[after] if after < len(clusters) and clusters[after] < last else last
    before = clusters[after - 1] if after else 0
    is_near = first + (wanted + 1) // 2 <= before
    if is_near and (end == last or target - before <= end - target):
        end = before
    n_events = end - first
    n_units = max(round(n_events / wanted), ceil(n_events / int(_SLACK * wanted)))
    return first + ceil(n_events / n_units)


def _joined(selected: Selected, whole: Integers, cut: list[_Cut]) -> Pieces:
    columns = np.array(cut, dtype=np.int64).reshape(-1, 4).T
    place = np.concatenate((whole, columns[0]))
    return Pieces(
        child=np.full(len(place), ANY_CHILD, dtype=np.int64),
        part=np.concatenate((np.zeros(len(whole), dtype=np.int64), columns[1])),
        run=selected.run[place],
        lumi=selected.lumi[place],
        file=selected.file[place],
        first=np.concatenate((selected.first[whole], columns[2])),
        last=np.concatenate((selected.last[whole], columns[3])),
    )
