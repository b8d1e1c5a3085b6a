"""Positions of events in the order of the plan, where outputs are cut into parts. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct

from forkrun.merge.planned import Integers, PlannedUnits
from forkrun.rundir.ledger import Commit

Entries = list[tuple[int, int, int]]
"""File, first and last of each range of entries."""
_FILE = 1 << 40
"""More than the entries of a file."""


class Positions:
    """Positions of the events of a plan, counted from its first event."""

    def __init__(self, units: PlannedUnits) -> None:
        self._units = units
        n_events = units.last - units.first
        self._before: Integers = np.concatenate(([0], np.cumsum(n_events)))
        keys = units.file * _FILE + units.first
        self._order = np.argsort(keys)
        self._keys = keys[self._order]

    @property
    def n_events(self) -> int:
        """Events of the whole plan."""
        return int(self._before[-1])

    def of_unit(self, unit: int) -> int:
        """Position of the first event of a unit; after the last unit, the end."""
        return int(self._before[self._units.first_range[unit]])

    def of_entries(self, file: Integers, entry: Integers) -> Integers:
        """(n,) positions of input entries in the plan."""
        places = self._order[np.searchsorted(self._keys, file * _FILE + entry, "right") - 1]
        positions: Integers = self._before[places] + entry - self._units.first[places]
        return positions

    def entries(self, begin: int, end: int) -> Entries:
        """Input entries at positions [begin, end), in the order of the plan."""
        place, found = int(np.searchsorted(self._before, begin, "right")) - 1, Entries()
        while begin < end:
            first = int(self._units.first[place]) + begin - int(self._before[place])
            last = first + min(end, int(self._before[place + 1])) - begin
            file = int(self._units.file[place])
            if found and found[-1][0] == file and found[-1][2] == first:
                found[-1] = (file, found[-1][1], last)
            elif first < last:
                found.append((file, first, last))
            place += 1
            begin = int(self._before[place])
        return found


class Cut(Struct, frozen=True):
    """A part of an output: events at positions [begin, end) of the plan. `sizes`: events of each
    cluster; none: the output has no events there."""

    begin: int
    end: int
    sizes: tuple[int, ...]


def cuts(
    clusters: Sequence[tuple[int, int, int]], positions: Positions, borders: Sequence[int], end: int
) -> list[Cut]:
    """Parts of an output, one for each pair of neighbouring `borders` (positions): the clusters
    that begin between them. `clusters`: file, entry and events of each, in order; `end`: position
    after all events that the output could have."""
    columns = np.asarray(clusters, np.int64).reshape(-1, 3)
    at = positions.of_entries(columns[:, 0], columns[:, 1])
    places = np.searchsorted(at, borders).tolist()
    places[-1] = len(at)
    begins = [*at.tolist(), end]
    sizes = columns[:, 2].tolist()
    return [Cut(begins[i], begins[j], tuple(sizes[i:j])) for i, j in pairwise(places)]


def commits_of(cut: Cut, commits: Sequence[Commit], positions: Positions) -> range:
    """Places of the commits with events of a part, among commits in order."""
    begins = [positions.of_unit(commit.unit) for commit in commits]
    first = int(np.searchsorted(begins, cut.begin, "right")) - 1
    return range(max(first, 0), int(np.searchsorted(begins, cut.end)))
