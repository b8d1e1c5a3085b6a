"""Assignment of a child: the work for which it is forked."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from msgspec import Struct

from forkrun.base.lumis import Integers
from forkrun.plan.model import EntryRange


class BadEvent(Struct, frozen=True):
    """An event that crashes the child. `file`, `entry`: where it is; `cause`: in words."""

    run: int
    lumi: int
    event: int
    file: int
    entry: int
    cause: str

    @property
    def id(self) -> str:
        """RUN:LUMI:EVENT."""
        return f"{self.run}:{self.lumi}:{self.event}"


class Purpose(StrEnum):
    """Assignment of a child: the work for which it is forked."""

    WORK = "work"
    PROBE = "probe"


class Assignment(Struct, frozen=True):
    """WORK: the units `first`, left by others, at most `n_together` at a time and those `alone` by
    themselves, then those of the queue. PROBE: `entries` of the one unit in `first`, event by
    event, with nothing kept. `left_out`: by unit, events not to be touched."""

    purpose: Purpose = Purpose.WORK
    first: tuple[int, ...] = ()
    entries: tuple[EntryRange, ...] = ()
    left_out: dict[int, tuple[BadEvent, ...]] = {}
    alone: frozenset[int] = frozenset()
    n_together: int = 1


def without(ranges: tuple[EntryRange, ...], bad: tuple[BadEvent, ...]) -> tuple[EntryRange, ...]:
    """The ranges without the entries of these events, in the same order."""
    if not bad:
        return ranges
    out = []
    for r in ranges:
        first = r.first
        for entry in sorted(e.entry for e in bad if e.file == r.file):
            if first <= entry < r.last:
                out.append(EntryRange(r.file, first, entry))
                first = entry + 1
        out.append(EntryRange(r.file, first, r.last))
    return tuple(r for r in out if r.first < r.last)


def stretch_without(ranges: Integers, bad: tuple[BadEvent, ...]) -> Integers:
    """The same of a stretch, whose ranges are the rows of an array."""
    if not bad:
        return ranges
    left = without(tuple(map(EntryRange, *ranges.T.tolist())), bad)
    return np.array(left, dtype=np.int64).reshape(-1, 3)


def entry_at(ranges: tuple[EntryRange, ...], place: int) -> EntryRange | None:
    """The entry with this place in the sequence of all entries, as a range; None beyond them."""
    for r in ranges:
        if place < r.last - r.first:
            return EntryRange(r.file, r.first + place, r.first + place + 1)
        place -= r.last - r.first
    return None
