"""`forkrun measure order`: bytes and time for reading in a framework that goes lumi by lumi."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from forkrun import _core
from forkrun.base.quantities import plural
from forkrun.config import IdBranches
from forkrun.formats.registry import format_named
from forkrun.index import FileIndex, index_files
from forkrun.monitoring.tables import Column
from forkrun.studies.columns.opened import OpenedFile
from forkrun.studies.columns.ways import Pass, read_in_order
from forkrun.studies.frame.published import published
from forkrun.studies.frame.repeats import Row, Way, measure_ways
from forkrun.studies.frame.study import Curve, Figure, Plot, Study
from forkrun.studies.order.copies import Events, pieces_by_lumi

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
    rows_, load = measure_ways(ways, n_repeats, quiet=quiet)
    size = (folder / "together.root").stat().st_size
    table = [row.with_ratio("times", "bytes", size) for row in rows_]
    name = Path(files[0]).name
    remark = (
        f"{plural(len(events), 'event')} in {plural(len(pieces), 'lumi')}, of {n_children} children"
        f" with an event each in turn: in {plural(n_pieces[SCATTERED], 'piece')}, together in"
        f" {n_pieces[TOGETHER]:,}. Another framework: reads each piece of a lumi, with one basket"
        " of each branch in memory"
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


def _conclusions(rows: Sequence[Row]) -> list[str]:
    by_name = {row.name: row for row in rows}
    lines = []
    for who in (OTHERS, OURS):
        scattered, together = (by_name[f"{name}: {who}"] for name in (SCATTERED, TOGETHER))
        lines.append(
            f"{who}: scattered lumis take {scattered['bytes'] / (together['bytes'] or 1):.1f} times"
            f" the bytes and {scattered['time_s'] / together['time_s']:.1f} times the time"
        )
    return lines


def _figures(rows: Sequence[Row]) -> list[Figure]:
    by_name = {row.name: row["bytes"] for row in rows}
    scattered, together = (by_name[f"{name}: {OTHERS}"] for name in (SCATTERED, TOGETHER))
    return [
        Figure.of("P1.10", "read of the merged file, lumis scattered", scattered),
        Figure.of("P1.10", "read of the merged file, lumis together", together),
        Figure.of("P1.10", "bytes read, scattered over together", scattered / (together or 1)),
    ]


def _plot(rows: Sequence[Row], name: str) -> Plot:
    """Plot of bytes relative to lumis together."""
    by_name = {row.name: row for row in rows}
    curves = []
    for who in (OTHERS, OURS):
        least = by_name[f"{TOGETHER}: {who}"]["bytes"] or 1.0
        points = [
            (float(x), by_name[f"{order}: {who}"]["bytes"] / least)
            for x, order in enumerate((TOGETHER, SCATTERED))
        ]
        curves.append(Curve(who, points))
    ratio = published("P1.10", "bytes read, scattered over together").value
    curves.append(Curve("CMS 2010", [(0.0, 1.0), (1.0, ratio)], theirs=True))
    return Plot(
        "Reading a merged file lumi by lumi", name, "order of the file",
        "bytes read, relative to lumis together", curves, ticks=[TOGETHER, SCATTERED],
    )  # fmt: skip
