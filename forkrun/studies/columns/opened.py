"""A file whose columns are measured: its index, and its division into blocks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct

from forkrun import _core
from forkrun.config import IdBranches
from forkrun.errors import InputError
from forkrun.formats.events import EventSource
from forkrun.formats.registry import format_named
from forkrun.index import FileIndex, try_index

BLOCK_SIZE = 8192
"""Maximum number of events per block, as in jobs of C++ modules."""
Blocks = list[tuple[int, int]]
"""First entry of each, and end entry (exclusive)."""


class OpenedFile(Struct, frozen=True):
    """`columns`: names and types of measured columns; `n_kept_bytes`: memory for baskets that stay
    unpacked, if entries are read out of order."""

    index: FileIndex
    ids: IdBranches
    columns: tuple[tuple[str, str], ...]
    n_kept_bytes: int = 0

    @classmethod
    def of(cls, path: str, tree: str, names: Sequence[str]) -> OpenedFile:
        """Opens a file for measurement. Raises InputError."""
        ids = IdBranches(tree, "run", "luminosityBlock", "event")
        index, problems = try_index([path], ids)
        if problems:
            ids = IdBranches(tree, "", "", "")
            index, problems = try_index([path], ids)
        if problems:
            raise InputError("\n".join(problems))
        if not index[0].n_entries:
            raise InputError(f"{path}: has no events to measure")
        types = {branch.name: branch.type for branch in index[0].all_branches}
        return cls(index[0], ids, tuple((name, types[name]) for name in names))

    @property
    def tree(self) -> str:
        return self.index.tree or self.ids.tree

    def blocks(self, size: int = BLOCK_SIZE) -> Blocks:
        """Clusters; large ones are split into equal parts, and small ones joined."""
        blocks: Blocks = []
        for begin, end in pairwise(self.index.clusters):
            if blocks and end - blocks[-1][0] <= size:
                blocks[-1] = (blocks[-1][0], end)
                continue
            n_parts = max(-(-(end - begin) // size), 1)
            edges = [begin + (end - begin) * part // n_parts for part in range(n_parts + 1)]
            blocks += pairwise(edges)
        return blocks

    def source(self) -> _core.Source:
        """A new source that has read nothing."""
        events = EventSource(
            [self.index.path], self.tree, self.ids[1:], self.columns, [self.index.clusters],
            [self.index.identity], {}, (), {}, self.n_kept_bytes,
            expected=[name for name, _ in self.columns],
        )  # fmt: skip
        return format_named(self.index.format).source(events)

    def unit(self, blocks: Blocks, block_size: int = 0) -> _core.UnitToDo:
        """These ranges as one unit of work. `block_size`: 0: chosen by the source."""
        of_lumis = [
            (of.run, of.lumi, min(of.last, last) - max(of.first, first))
            for first, last in blocks
            for of in self.index.ranges
            if of.first < last and of.last > first
        ]
        runs, lumis, counts = (np.array(each, np.int64) for each in zip(*of_lumis, strict=True))
        several = (runs, lumis, np.cumsum(counts)) if len(of_lumis) > 1 else None
        ranges = [(0, first, last) for first, last in blocks]
        first = int(runs[0]), int(lumis[0])
        return _core.UnitToDo(0, *first, ranges, {}, lumis=several, block_size=block_size)
