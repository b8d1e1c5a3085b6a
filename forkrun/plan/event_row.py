"""A plan's events in a row: where parts of the input are in it, and units that end at their
borders. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from forkrun.base.lumis import Integers, distinct
from forkrun.index.model import Flags
from forkrun.plan.model import Units

Stretch = tuple[int, int]
"""First place and the one after the last in the row of all events."""


class EventRow:
    """All events of units in the order of these. `ranges` : (n_ranges, 3) file, first and last;
    `places` : (n_ranges + 1,) of their first events."""

    def __init__(self, units: Units) -> None:
        self.ranges = units.joined_ranges(np.arange(len(units)))
        n_events = self.ranges[:, 2] - self.ranges[:, 1]
        self.places = np.concatenate(([0], np.cumsum(n_events)))
        order = np.lexsort((self.ranges[:, 1], self.ranges[:, 0]))
        self._order, self._sorted = order, self.ranges[order]

    def __len__(self) -> int:
        return int(self.places[-1])

    def place_of(
        self, part: Sequence[tuple[str, int, int]], numbers: Mapping[str, int]
    ) -> Stretch | None:
        """Where the events of a part are, in its order without others between them; None: nowhere.
        `numbers`: of files, by their keys."""
        if not part or any(key not in numbers for key, *_ in part):
            return None
        wanted = np.array([(numbers[key], first, last) for key, first, last in part])
        file, first, _ = wanted[0]
        of_file = self._sorted[:, 0].searchsorted([file, file + 1])
        own = self._sorted[slice(*of_file)]
        at = int(own[:, 1].searchsorted(first, side="right")) - 1
        if at < 0 or own[at, 2] <= first:
            return None
        number = int(self._order[of_file[0] + at])
        begin = int(self.places[number] + first - self.ranges[number, 1])
        end = begin + int((wanted[:, 2] - wanted[:, 1]).sum())
        same = end <= len(self) and np.array_equal(self.between(begin, end), wanted)
        return (begin, end) if same else None

    def between(self, begin: int, end: int) -> Integers:
        """(n, 3) ranges of the events of a stretch."""
        low = int(self.places.searchsorted(begin, side="right")) - 1
        high = int(self.places.searchsorted(end, side="left"))
        found = self.ranges[low:high].copy()
        found[0, 1] += begin - self.places[low]
        found[-1, 2] -= self.places[high] - end
        return found


def cut_at(units: Units, places: Iterable[int]) -> Units:
    """The units, cut in two where they go across one of these places in the row of all events.
    Each unit has events."""
    begins = np.concatenate(([0], np.cumsum(units.last - units.first)))
    wanted = np.array([each for each in places if 0 < each < begins[-1]], dtype=np.int64)
    every = distinct(np.concatenate((begins, wanted)))
    source = begins.searchsorted(every[:-1], side="right") - 1
    first = units.first[source] + every[:-1] - begins[source]
    before = begins[units.first_range]
    of_units = distinct(np.concatenate((before, wanted)))
    unit = before.searchsorted(of_units[:-1], side="right") - 1
    return replace(
        units,
        child=units.child[unit],
        run=units.run[unit],
        lumi=units.lumi[unit],
        first_range=every.searchsorted(of_units),
        file=units.file[source],
        first=first,
        last=first + np.diff(every),
    )


class Stretches:
    """Sets of events that are made of the same smallest stretches. `borders`: of these."""

    def __init__(self, n_events: int, known: Mapping[str, Stretch]) -> None:
        ends = {place for stretch in known.values() for place in stretch}
        self.borders = np.array(sorted({0, n_events, *ends}))
        self.sizes = np.diff(self.borders)
        self._known = dict(known)
        self._of = {
            name: (self.borders[:-1] >= begin) & (self.borders[:-1] < end)
            for name, (begin, end) in known.items()
        }

    def chosen(self, names: Iterable[str], without: Flags | None = None) -> list[str]:
        """Parts that have no event twice, the largest first, none of `without`; in the order of
        the row."""
        taken = np.zeros(len(self.sizes), np.bool_) if without is None else without.copy()
        found = []
        known = [name for name in names if name in self._known]
        for name in sorted(known, key=lambda n: (-self.n_events(self._of[n]), self._known[n])):
            if not (taken & self._of[name]).any():
                taken |= self._of[name]
                found.append(name)
        return sorted(found, key=self._known.__getitem__)

    def missing(self, names: Iterable[str]) -> Flags:
        """Flags of the stretches that are in none of these parts."""
        is_there = np.zeros(len(self.sizes), np.bool_)
        for name in names:
            is_there |= self._of[name]
        return ~is_there

    def n_events(self, flags: Flags) -> int:
        """Events of these stretches."""
        return int(self.sizes[flags].sum())
