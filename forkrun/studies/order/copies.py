"""Copies of the events of files: with lumis in one piece, and scattered as written by children."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from forkrun import _core
from forkrun.config import IdBranches
from forkrun.errors import InputError
from forkrun.formats import OTHER
from forkrun.formats.column_types import ColumnType, counter_of
from forkrun.formats.plain import Plain, joined, rows_of
from forkrun.formats.registry import format_named
from forkrun.index import Branch, FileIndex

_CLUSTER = 5000
"""Events per cluster of the copies, as in `forkrun sample`."""
_COMPRESSION = "zstd:1"


class Events:
    """Columns of the first events of some files, in memory; without lists of lists."""

    def __init__(self, index: Sequence[FileIndex], ids: IdBranches, n_events: int) -> None:
        """Reads at most `n_events`. Raises InputError."""
        self.types = _columns_of_all(index)
        if not {*ids[1:]} <= {*self.types}:
            raise InputError(f"{index[0].path}: has no {', '.join(ids[1:])} to put in order")
        parts = []
        for file in index:
            n_taken = min(n_events, file.n_entries)
            n_events -= n_taken
            if n_taken:
                read = format_named(file.format).read
                names = [*self.types]
                parts.append(read(file.path, file.tree or ids.tree, names, 0, n_taken))
        if not parts:
            raise InputError(f"{index[0].path}: has no events to put in order")
        self.columns: dict[str, Plain] = {
            name: joined([part[name] for part in parts]) for name in self.types
        }
        self.lumis = self.columns[ids[1]].astype(np.int64) << 32 | self.columns[ids[2]]

    def __len__(self) -> int:
        return len(self.lumis)

    def together(self) -> npt.NDArray[np.int64]:
        """Rows with the events of each lumi next to each other."""
        return np.argsort(self.lumis, kind="stable")

    def scattered(self, n_children: int) -> npt.NDArray[np.int64]:
        """Rows as left by children that take one event each in turn: one child's after the
        other's."""
        rows = self.together()
        return np.concatenate([rows[child::n_children] for child in range(n_children)])

    def write(self, path: Path, rows: npt.NDArray[np.int64]) -> None:
        """Writes a file with these rows in this order. Raises OutputError."""
        counters = {counter_of(name) for name, kind in self.types.items() if "[" in kind}
        kinds = [(name, kind) for name, kind in self.types.items() if name not in counters]
        writer = _core.TreeWriter(str(path), "Events", kinds, _COMPRESSION)
        for first in range(0, len(rows), _CLUSTER):
            of_cluster = rows[first : first + _CLUSTER]
            writer.write({name: rows_of(self.columns[name], of_cluster) for name, _ in kinds})
        writer.close()


def pieces_by_lumi(lumis: npt.NDArray[np.int64]) -> list[list[tuple[int, int]]]:
    """Entries of each lumi as maximal ranges, in order of first appearance."""
    edges = [0, *(np.flatnonzero(np.diff(lumis)) + 1).tolist(), len(lumis)]
    pieces: dict[int, list[tuple[int, int]]] = {}
    for first, last in pairwise(edges):
        pieces.setdefault(int(lumis[first]), []).append((first, last))
    return [*pieces.values()]


def _columns_of_all(index: Sequence[FileIndex]) -> dict[str, str]:
    """Types of the columns common to all files: numbers, and lists of them with their own
    counter."""
    of_files = [
        {branch.name: branch.type for branch in file.branches if _is_plain(branch)}
        for file in index
        if file.n_entries
    ]
    common = set.intersection(*(set(each.items()) for each in of_files)) if of_files else set()
    return {name: kind for name, kind in (of_files or [{}])[0].items() if (name, kind) in common}


def _is_plain(branch: Branch) -> bool:
    if branch.type.startswith(OTHER):
        return False
    of = ColumnType.of(branch.type)
    is_list = of.n_levels == 1 and not of.dimensions and branch.counter == counter_of(branch.name)
    return of.is_number or (is_list and not of.is_text)
