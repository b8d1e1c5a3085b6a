"""The first events of a job: what is read of them to find out what modules read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from forkrun import _core
from forkrun.config import SourceConfig
from forkrun.errors import InputError
from forkrun.plan import Units
from forkrun.plan.model import EntryRange

Plain = Any  # values, or (offsets, values) of a jagged column


@dataclass(frozen=True)
class FirstEvents:
    """Up to `n_most` events of one IOV, or of one lumi. `lumis`: (run, lumi, first, last) as in a
    block. `types`: of the input's columns."""

    source: SourceConfig
    files: Sequence[str]
    types: Mapping[str, str]
    ranges: Sequence[EntryRange]
    lumis: Sequence[tuple[int, int, int, int]]
    is_all: bool
    """There are no more of them."""

    def __len__(self) -> int:
        return sum(r.last - r.first for r in self.ranges)

    def read(self, name: str) -> Plain:
        """A column of the input. Call it where files may be opened."""
        ranges = self.ranges or [EntryRange(0, 0, 0)]
        parts = [self._read(name, r) for r in ranges]
        return _joined(parts, self.types[name].endswith("[]"))

    def _read(self, name: str, part: EntryRange) -> Plain:
        file, tree = self.files[part.file], self.source.tree
        try:
            return _core.read_columns(file, tree, [name], part.first, part.last)[name]
        except InputError:
            if name not in self.source.fill:
                raise
            return self._filled(name, part.last - part.first)

    def _filled(self, name: str, n_events: int) -> Plain:
        """As the files have it that lack the column."""
        kind = np.dtype(self.types[name].removesuffix("[]"))
        if self.types[name].endswith("[]"):
            return np.zeros(n_events + 1, np.int64), np.empty(0, kind)
        return np.full(n_events, self.source.fill[name], kind)

    @cached_property
    def events(self) -> npt.NDArray[np.uint64]:
        """(n_events,) event numbers."""
        if self.source.event_branch:
            numbers = self.read(self.source.event_branch)
            return np.asarray(numbers).astype(np.uint64)
        parts = [np.arange(r.first, r.last, dtype=np.uint64) for r in self.ranges]
        return np.concatenate([np.empty(0, np.uint64), *parts])


def first_events(
    source: SourceConfig,
    files: Sequence[str],
    types: Mapping[str, str],
    units: Units,
    n_same_iov: int,
    n_most: int,
    one_lumi: bool,
) -> FirstEvents:
    """`units`: of the plan, of which the first `n_same_iov` are of one IOV."""
    ranges: list[EntryRange] = []
    lumis: list[tuple[int, int, int, int]] = []
    n = 0
    for number in range(n_same_iov):
        unit = units[number]
        if n == n_most or (one_lumi and lumis and lumis[-1][:2] != (unit.run, unit.lumi)):
            break
        taken = list(_cut(unit.ranges, n_most - n))
        n_taken = sum(r.last - r.first for r in taken)
        ranges += taken
        lumis.append((unit.run, unit.lumi, n, n + n_taken))
        n += n_taken
    return FirstEvents(source, files, types, ranges, lumis, n < n_most)


def _cut(ranges: Sequence[EntryRange], n_most: int) -> Iterator[EntryRange]:
    for each in ranges:
        n = min(each.last - each.first, n_most)
        if n:
            yield EntryRange(each.file, each.first, each.first + n)
        n_most -= n


def _joined(parts: Sequence[Plain], is_jagged: bool) -> Plain:
    if not is_jagged:
        return np.concatenate(parts)
    counts = np.concatenate([np.diff(offsets) for offsets, _ in parts])
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets, np.concatenate([values[o[0] : o[-1]] for o, values in parts])
