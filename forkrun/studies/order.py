"""`forkrun measure order`: bytes and time for reading in a framework that goes lumi by lumi."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from forkrun import _core
from forkrun.base.quantities import plural
from forkrun.config.source import IdBranches
from forkrun.errors import InputError
from forkrun.formats import OTHER
from forkrun.formats.column_types import ColumnType, counter_of
from forkrun.formats.plain import Plain, joined, rows_of
from forkrun.formats.registry import format_named
from forkrun.index.model import Branch, FileIndex
from forkrun.index.read import index_files
from forkrun.monitoring.tables import Column
from forkrun.studies.frame.passes import OpenedFile, Pass, read_in_order
from forkrun.studies.frame.repeats import Row, Way, measure_ways
from forkrun.studies.frame.study import Curve, Figure, Plot, Study, published

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


TOGETHER, SCATTERED = "lumis together", "lumis scattered"
OTHERS, OURS = "another framework", "forkrun"
COLUMNS = (
    Column("bytes", "bytes read", "size"),
    Column("times", "× the file", "ratio"),
    Column("calls", "reads", "count"),
    Column("time_s", "time", "time"),
)
_KEPT_BYTES = 256 << 20
"""Memory for unpacked baskets, as in children."""


def measure_order(
    files: Sequence[str],
    ids: IdBranches,
    folder: Path,
    n_events: int,
    n_children: int,
    n_repeats: int,
    *,
    quiet: bool,
) -> Study:
    """Measures the first `n_events` of some files, copied twice into `folder`. `n_children`: number
    of children for the scattered copy. Raises InputError."""
    events = Events(index_files(files, ids), ids, n_events)
    orders = {TOGETHER: events.together(), SCATTERED: events.scattered(n_children)}
    ways: dict[str, Way] = {}
    n_pieces = {}
    for name, rows in orders.items():
        path = folder / f"{name.partition(' ')[2]}.root"
        events.write(path, rows)
        pieces = pieces_by_lumi(events.lumis[rows])
        n_pieces[name] = sum(map(len, pieces))
        (index,) = index_files([str(path)], ids)
        ways[f"{name}: {OTHERS}"] = partial(_play, index, ids, pieces)
        ways[f"{name}: {OURS}"] = partial(_play_here, index, ids, pieces)
    measured, load = measure_ways(ways, n_repeats, quiet=quiet)
    size = (folder / "together.root").stat().st_size
    table = {way: row.with_ratio("times", "bytes", size) for way, row in measured.items()}
    name = Path(files[0]).name
    remark = (
        f"{plural(len(events), 'event')} in {plural(len(pieces), 'lumi')}, of"
        f" {plural(n_children, 'child')} with an event each in turn: in"
        f" {plural(n_pieces[SCATTERED], 'piece')}, together in {n_pieces[TOGETHER]:,}. Another"
        " framework: reads each piece of a lumi, with one basket of each branch in memory"
    )
    return Study(
        "order", name, COLUMNS, table, load, _conclusions(table), [remark], _figures(table),
        _plot(table, name),
    )  # fmt: skip


def _play(
    index: FileIndex, ids: IdBranches, lumis: Sequence[Sequence[tuple[int, int]]]
) -> Mapping[str, float]:
    """Reads all columns lumi by lumi, keeping only the last basket of each branch."""
    opened = format_named(index.format).opened(index.path, ids.tree)
    names = [branch.name for branch in index.branches]
    before, begin_s = _core.byte_costs()["read"], time.perf_counter()
    for pieces in lumis:
        for first, last in pieces:
            opened.read(names, first, last)
    time_s = time.perf_counter() - begin_s
    n_calls, n_bytes, _ = _core.byte_costs()["read"]
    return {"time_s": time_s, "calls": n_calls - before[0], "bytes": n_bytes - before[1]}


def _play_here(
    index: FileIndex, ids: IdBranches, lumis: Sequence[Sequence[tuple[int, int]]]
) -> Mapping[str, float]:
    """Reads the same with forkrun, as with source.order = "lumi"."""
    types = tuple((branch.name, branch.type) for branch in index.branches)
    file = OpenedFile(index, ids, types, _KEPT_BYTES)
    found: Pass = read_in_order(file, [piece for pieces in lumis for piece in pieces])
    return {"time_s": found.time_s, "calls": found.read_calls, "bytes": found.read_bytes}


def _conclusions(rows: Mapping[str, Row]) -> list[str]:
    lines = []
    for who in (OTHERS, OURS):
        scattered, together = (rows[f"{name}: {who}"] for name in (SCATTERED, TOGETHER))
        lines.append(
            f"{who}: scattered lumis take {scattered['bytes'] / (together['bytes'] or 1):.1f} times"
            f" the bytes and {scattered['time_s'] / together['time_s']:.1f} times the time"
        )
    return lines


def _figures(rows: Mapping[str, Row]) -> list[Figure]:
    scattered, together = (rows[f"{name}: {OTHERS}"]["bytes"] for name in (SCATTERED, TOGETHER))
    return [
        Figure.of("P1.10", "read of the merged file, lumis scattered", scattered),
        Figure.of("P1.10", "read of the merged file, lumis together", together),
        Figure.of("P1.10", "bytes read, scattered over together", scattered / (together or 1)),
    ]


def _plot(rows: Mapping[str, Row], name: str) -> Plot:
    """Plot of bytes relative to lumis together."""
    curves = []
    for who in (OTHERS, OURS):
        least = rows[f"{TOGETHER}: {who}"]["bytes"] or 1.0
        points = [
            (float(x), rows[f"{order}: {who}"]["bytes"] / least)
            for x, order in enumerate((TOGETHER, SCATTERED))
        ]
        curves.append(Curve(who, points))
    ratio = published("P1.10", "bytes read, scattered over together").value
    curves.append(Curve("CMS 2010", [(0.0, 1.0), (1.0, ratio)], theirs=True))
    return Plot(
        "Reading a merged file lumi by lumi", name, "order of the file",
        "bytes read, relative to lumis together", curves, ticks=[TOGETHER, SCATTERED],
    )  # fmt: skip
