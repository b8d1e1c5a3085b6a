"""Which entries of the input are to be processed: the mask first, then the count."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from forkrun._core import EventDigest
from forkrun.base.lumis import Integers, Keys, lumi_keys
from forkrun.index import LumiRanges
from forkrun.plan.lumi_mask import LumiMask, within


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
