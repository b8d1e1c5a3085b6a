"""Passes over the columns of a file with threads of one process: the core itself, with a module
that requests all columns and does nothing."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec import Struct

from forkrun import _core
from forkrun.config.source import IdBranches
from forkrun.errors import InputError
from forkrun.formats.events import EventSource
from forkrun.formats.registry import format_named
from forkrun.index.model import FileIndex
from forkrun.index.read import try_index

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
            files=[self.index.path], tree=self.tree, ids=self.ids[1:], columns=self.columns,
            clusters=[self.index.clusters], identities=[self.index.identity],
            n_kept_bytes=self.n_kept_bytes, expected=[name for name, _ in self.columns],
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


class Pass(Struct, frozen=True):
    """One pass over all blocks. `columns_s`: time in each column, summed over threads."""

    time_s: float
    read_calls: int
    read_bytes: int
    columns_s: dict[str, float]


class _RequestAll:
    """Module that requests all columns."""

    def analyze(self, block: Any) -> None:
        """Does nothing with the columns."""


def read_together(file: OpenedFile, n_threads: int, n_blocks: int, block_size: int = 0) -> Pass:
    """One child with `n_threads` threads and `n_blocks` blocks in flight, split as in jobs."""
    whole = file.unit([(0, file.index.n_entries)], block_size)
    return _read(file, [whole], n_threads, n_blocks)


def read_apart(file: OpenedFile, parts: Sequence[Blocks]) -> Pass:
    """One thread for each part of the blocks, with its own files and baskets, independent of the
    others."""
    sizes = [max((last - first for first, last in part), default=0) for part in parts]
    units = [file.unit(part, size) for part, size in zip(parts, sizes, strict=True) if part]
    return _read(file, units, 1, 1)


def halves(file: OpenedFile, blocks: Blocks, n_parts: int) -> list[Blocks]:
    """Consecutive parts of about equal numbers of entries, split between clusters."""
    clusters = {*file.index.clusters}
    edges = [begin for begin, _ in blocks if begin in clusters]
    n_entries = file.index.n_entries
    wanted = [n_entries * part // n_parts for part in range(1, n_parts)]
    cuts = [min((abs(edge - at), edge) for edge in edges)[1] for at in wanted]
    parts: list[Blocks] = [[] for _ in range(n_parts)]
    for begin, end in blocks:
        parts[bisect_right(cuts, begin)].append((begin, end))
    return parts


def read_in_order(file: OpenedFile, entries: Blocks) -> Pass:
    """One thread, reading in an order other than that of the file."""
    return _read(file, [file.unit(entries)], 1, 1)


def alternate(blocks: Blocks, n_parts: int) -> list[Blocks]:
    """Even and odd blocks, for two parts."""
    return [blocks[part::n_parts] for part in range(n_parts)]


def _read(file: OpenedFile, units: Sequence[_core.UnitToDo], n_threads: int, n_blocks: int) -> Pass:
    """One processor for each unit, all at the same time."""
    readers = [_Reader(file, unit, n_threads, n_blocks) for unit in units]
    begin_s = time.perf_counter()
    if len(readers) == 1:
        readers[0].run()
    else:
        with ThreadPoolExecutor(len(readers)) as pool:
            list(pool.map(_Reader.run, readers))
    time_s = time.perf_counter() - begin_s
    columns: dict[str, float] = {}
    for reader in readers:
        for name, spent_s in reader.columns_s().items():
            columns[name] = columns.get(name, 0.0) + spent_s
    results = [reader.result for reader in readers]
    return Pass(
        time_s,
        sum(result.read_calls for result in results),
        sum(result.read_bytes for result in results),
        columns,
    )


class _Reader:
    """A processor with one unit."""

    result: _core.UnitResult

    def __init__(
        self, file: OpenedFile, unit: _core.UnitToDo, n_threads: int, n_blocks: int
    ) -> None:
        names = [name for name, _ in file.columns]
        builder = _core.ScheduleBuilder(list(file.columns))
        builder.add_python_module("asks", "analyzer", _RequestAll(), names, {})
        builder.add_path("all", ["asks"])
        self._schedule, self._source = builder.compile(), file.source()
        settings = _core.ProcessorSettings(
            executor="serial" if n_threads == 1 else "tbb", threads=n_threads,
            concurrent_blocks=n_blocks, block_size=0, timing=True,
        )  # fmt: skip
        self._schedule.begin_job()
        self._processor = _core.Processor(self._schedule, self._source, settings)
        self._units = iter([unit])

    def run(self) -> None:
        """Reads all blocks."""
        self._processor.run(lambda: next(self._units, None), self._take)

    def _take(self, _: int, result: _core.UnitResult) -> None:
        self.result = result

    def columns_s(self) -> dict[str, float]:
        """Time in each column."""
        modules = self._processor.timing()["modules"]
        return {m["label"]: m["total_s"] for m in modules if m["label"] != "asks"}
