"""Units that any idle child takes: large at first, small towards the end of the job, so that
children finish together. Where units begin and end follows from the input and the settings, never
from the number of children."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from forkrun.index.ranges import Integers
from forkrun.plan.model import ANY_CHILD, EntryRange
from forkrun.plan.pieces import Pieces
from forkrun.plan.select import Selected

_SHARES = 12
"""Units of the present size that each of `balance_for` children would get of what is left."""
_SMALLEST = 8
"""Ratio of the sizes of the first units and the last."""
_SLACK = 1.25
"""Largest size of a unit over the wanted one, if it then ends with its lumi or a cluster."""
_OF_CLUSTER = 8
"""Units that a cluster is cut into, at most: each reads it again, and has its own baskets."""
_FEWEST = 6
"""Clusters do not matter where each of `balance_for` children would get fewer units than this."""
_LEAST = 10
"""Events of a unit that is cut, however small the clusters are."""


@dataclass(frozen=True)
class UnitSizes:
    """How many events a unit should have where so many are left. `balance_for`: the number of
    children for which borders are fine enough; `least`: of a unit of a lumi that is cut; `most`: of
    any unit."""

    n_events: int
    balance_for: int
    least: int | None = None
    most: int | None = None

    def least_in(self, cluster_events: Integers) -> Integers:
        """(n,) least events of a unit where clusters have `cluster_events`."""
        if self.least is not None:
            return np.full(len(cluster_events), self.least)
        enough = self.n_events // (_FEWEST * self.balance_for)
        return np.maximum(np.minimum(cluster_events // _OF_CLUSTER, enough), _LEAST)

    def wanted(self, n_left: Integers, least: Integers) -> Integers:
        """(n,) wanted events of a unit, where (n,) are left, and at least the given number."""
        first = self.n_events / (_SHARES * self.balance_for)
        wanted = np.maximum(n_left / (_SHARES * self.balance_for), first / _SMALLEST)
        least = np.minimum(least, self.limit)
        return np.clip(np.ceil(wanted), least, self.limit).astype(np.int64)

    @property
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
    least = sizes.least_in(_cluster_events(clusters)[selected.file[order[first_place]]])
    too_large = n_events_of > np.minimum(_SLACK * sizes.wanted(n_left, least), sizes.limit)
    cut = []
    for lumi in np.flatnonzero(too_large).tolist():
        places = order[first_place[lumi] : first_place[lumi] + n_ranges_of[lumi]]
        of_lumi = replace(sizes, least=int(least[lumi]))
        cut += _cut_lumi(selected, places.tolist(), int(n_left[lumi]), of_lumi, clusters)
    whole = order[~too_large[lumi_rank[order]]]
    return _joined(selected, whole, cut)


def _cluster_events(clusters: Clusters) -> Integers:
    """(n_files,) mean size of the clusters of each; 0 if they are not known."""
    means = [of_file[-1] // max(len(of_file) - 1, 1) if of_file else 0 for of_file in clusters]
    return np.array(means, dtype=np.int64)


_Cut = tuple[int, int, int, int]
"""Place of the range in the selection, part, first, last."""


def _cut_lumi(
    selected: Selected,
    places: list[int],
    n_left: int,
    sizes: UnitSizes,
    clusters: Clusters,
) -> list[_Cut]:
    n_events = sum(int(selected.last[p] - selected.first[p]) for p in places)
    part, missing, room = 0, _share(n_events, n_left, sizes), sizes.limit
    cut = []
    for place in places:
        r = EntryRange(*(int(c[place]) for c in (selected.file, selected.first, selected.last)))
        while r.first < r.last:
            end = min(_end(r, missing, clusters[r.file]), r.first + room)
            cut.append((place, part, r.first, end))
            taken = end - r.first
            n_events, n_left = n_events - taken, n_left - taken
            missing, room = missing - taken, room - taken
            if end < r.last or 2 * missing <= taken:
                part, missing, room = part + 1, _share(n_events, n_left, sizes), sizes.limit
            r = r._replace(first=end)
    return cut


def _share(n_events: int, n_left: int, sizes: UnitSizes) -> int:
    """Events of the next unit of a lumi that has `n_events` left: so many that no small rest
    remains."""
    least = np.array([sizes.least or 1])
    wanted = int(sizes.wanted(np.array([n_left]), least)[0])
    parts = max(round(n_events / wanted), -(-n_events // sizes.limit), 1)
    return -(-n_events // parts)


def _end(r: EntryRange, wanted: int, clusters: Sequence[int]) -> int:
    """Where a unit that begins with this range ends: at the cluster nearest to the wanted size if
    one is near enough; else exactly there, or with the range."""
    target = r.first + max(wanted, 1)
    if target >= r.last:
        return r.last
    after = bisect_left(clusters, target)
    near = [c for c in clusters[max(after - 1, 0) : after + 1] if 2 * (c - r.first) >= wanted]
    near = [c for c in near if c - r.first <= _SLACK * wanted and c < r.last]
    return min(near, key=lambda c: abs(c - target), default=target)


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
