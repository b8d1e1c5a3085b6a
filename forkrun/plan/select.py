"""Which entries of the input are to be processed: the mask first, then the count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from forkrun._core import EventDigest
from forkrun.index import FileIndex, LumiRange
from forkrun.plan.lumi_mask import LumiMask
from forkrun.plan.model import Integers


@dataclass(frozen=True)
class Selection:
    """What is asked for."""

    mask: LumiMask | None = None
    skip_events: int = 0
    max_events: int | None = None


@dataclass(frozen=True)
class Selected:
    """What is selected: ranges of entries in input order, each of one lumi, as columns of equal
    length. `digest`: of their events; None if the index does not know it."""

    run: Integers
    lumi: Integers
    file: Integers
    first: Integers
    last: Integers
    digest: str | None

    @property
    def n_events(self) -> int:
        """In all ranges."""
        return int((self.last - self.first).sum())

    @property
    def lumi_key(self) -> Integers:
        """Run and lumi in one number, in the order of (run, lumi)."""
        return (self.run << 32) | self.lumi


def select(index: Sequence[FileIndex], selection: Selection) -> Selected:
    """Pure."""
    rows: list[tuple[int, int, int, int, int]] = []
    count, digest, is_whole = 0, 0, True
    to_skip, left = selection.skip_events, selection.max_events
    for number, r in _good_ranges(index, selection.mask):
        first = min(r.last, r.first + to_skip)
        last = r.last if left is None else min(r.last, first + left)
        to_skip -= first - r.first
        left = None if left is None else left - (last - first)
        if first < last:
            rows.append((r.run, r.lumi, number, first, last))
            is_whole = is_whole and (first, last) == (r.first, r.last)
            count, digest = count + last - first, digest + int(r.digest, 16)
    columns = np.array(rows, dtype=np.int64).reshape(-1, 5).T
    run, lumi, file, firsts, lasts = columns
    whole = _hex(count, digest) if is_whole else None
    return Selected(run, lumi, file, firsts, lasts, whole)


def _hex(count: int, digest: int) -> str:
    return EventDigest(count, f"{digest % (1 << 128):032x}").hex


def _good_ranges(
    index: Sequence[FileIndex], mask: LumiMask | None
) -> Iterator[tuple[int, LumiRange]]:
    for number, file in enumerate(index):
        for r in file.ranges:
            if mask is None or mask.accepts(r.run, r.lumi):
                yield number, r
