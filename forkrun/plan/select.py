"""Selected entries of the input, by the mask first, then by count, pieces of them that become
units, and numbers of events: of each file, of those that a job reads, and of each lumi."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from forkrun._core import EventDigest
from forkrun.base.lumis import Integers, Keys, LumiCounts, dataset_lumi_keys, lumi_keys, number_keys
from forkrun.index.model import LumiRanges
from forkrun.plan.lumi_mask import LumiMask, within
from forkrun.plan.model import Units


class Selection(Struct, frozen=True):
    """Selection that a job asks for."""

    mask: LumiMask | None = None
    skip_events: int = 0
    max_events: int | None = None


class Selected(Struct, frozen=True):
    """Selected events: ranges of entries in input order, each of one lumi, as columns of equal
    length. `digest`: of their events; None if the index does not know it."""

    run: Integers
    lumi: Integers
    file: Integers
    first: Integers
    last: Integers
    digest: str | None

    @property
    def n_events(self) -> int:
        """Number of events in all ranges."""
        return int((self.last - self.first).sum())

    @property
    def lumi_key(self) -> Keys:
        """Run and lumi in one number, in the order of (run, lumi)."""
        return lumi_keys(self.run, self.lumi)


def select(ranges: LumiRanges, selection: Selection) -> Selected:
    """Pure."""
    ranges = within(selection.mask, ranges)
    if not selection.skip_events and selection.max_events is None:
        return _selected(ranges, ranges.first, ranges.last)
    n_events = ranges.n_events
    begin = np.cumsum(n_events) - n_events  # in the row of all events that the mask accepts
    total = int(n_events.sum())
    skipped = min(selection.skip_events, total)
    end = total if selection.max_events is None else min(skipped + selection.max_events, total)
    first = ranges.first + np.clip(skipped - begin, 0, n_events)
    last = ranges.first + np.clip(end - begin, 0, n_events)
    left = first < last
    return _selected(ranges.where(left), first[left], last[left])


def _selected(ranges: LumiRanges, first: Integers, last: Integers) -> Selected:
    """Entries [first, last) of these ranges."""
    is_whole = np.array_equal(first, ranges.first) and np.array_equal(last, ranges.last)
    digest = _hex(int(ranges.n_events.sum()), ranges.digest_of_all()) if is_whole else None
    return Selected(ranges.run, ranges.lumi, ranges.file, first, last, digest)


def _hex(count: int, digest: int) -> str:
    return EventDigest(count, f"{digest:032x}").hex


class Pieces(Struct, frozen=True):
    """Entries [first, last) of ranges of a selection, as columns in input order. `source`: the
    place of the range. Pieces of one rank with the same `child` and `part` are one unit."""

    child: Integers
    part: Integers
    source: Integers
    first: Integers
    last: Integers

    def units(self, selected: Selected, rank_of: Integers) -> Units:
        """Units in order of ranks, then of children, then of parts. If there is no piece at all,
        one empty unit, so that outputs have branches. `rank_of` : (n_ranges of the selection,)."""
        if not len(self.source):
            zero = np.zeros(1, dtype=np.int64)
            none = np.zeros(0, dtype=np.int64)
            return Units(zero, zero, zero, np.zeros(2, dtype=np.int64), none, none, none)
        child, part, source, first, last = self._in_order(rank_of)
        rank, file = rank_of[source], selected.file[source]
        begins_unit = changes(rank) | changes(child) | changes(part)
        begins_range = begins_unit | changes(file)
        begins_range[1:] |= last[:-1] != first[1:]
        firsts = np.flatnonzero(begins_range)
        lasts = np.append(firsts[1:], len(source)) - 1
        unit_firsts = np.flatnonzero(begins_unit)
        first_range = np.append(np.cumsum(begins_range)[unit_firsts] - 1, len(firsts))
        return Units(
            child=child[unit_firsts],
            run=selected.run[source[unit_firsts]],
            lumi=selected.lumi[source[unit_firsts]],
            first_range=first_range,
            file=file[firsts],
            first=first[firsts],
            last=last[lasts],
        )

    def _in_order(self, rank_of: Integers) -> Iterator[Integers]:
        """Columns in the order of units."""
        keys = (self.part, self.child, rank_of[self.source])
        order = slice(None) if _are_in_order(keys) else np.lexsort(keys)
        columns = (self.child, self.part, self.source, self.first, self.last)
        return (column[order] for column in columns)


def _are_in_order(keys: Sequence[Integers]) -> bool:
    """Whether rows rise by the last key, where that is the same by the one before it, and so on."""
    is_less = np.zeros(max(len(keys[0]) - 1, 0), dtype=np.bool_)
    for key in keys:
        is_less = (key[1:] < key[:-1]) | ((key[1:] == key[:-1]) & is_less)
    return not is_less.any()


def changes(column: npt.NDArray[Any]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """(n,) whether a value differs from the one before; true for the first."""
    differs = np.ones(len(column), dtype=np.bool_)
    differs[1:] = column[1:] != column[:-1]
    return differs


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
