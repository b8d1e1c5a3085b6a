"""`forkrun measure histograms`: times of fills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from msgspec import Struct

from forkrun import _core
from forkrun.base.quantities import count
from forkrun.monitoring.tables import Column
from forkrun.studies.frame.repeats import Row, Way, measure_ways
from forkrun.studies.frame.study import Curve, Figure, Plot, Study
from forkrun.studies.histograms.columns import HISTOGRAMS, column_ways

PUBLISHED = {"copies": "copy", "lock": "lock", "buffer": "buffer"}
OURS = {"forkrun": "exact"}
"""Names of ways, and the core's names for them."""


class Bins(Struct, frozen=True):
    """A histogram. `key`: of its values."""

    key: str
    title: str
    n_axes: int
    n_bins: int


BINS = (
    Bins("few", "1,000 bins", 1, 1000),
    Bins("many", "1,000 of 1,000 bins", 2, 1000),
)
"""The published thousand histograms form one, with an extra axis that selects one of them."""


def name_of(way: str, n_threads: int) -> str:
    """Name of a row."""
    return f"{way}, {n_threads} thread{'s' * (n_threads > 1)}"


def thread_ways(n_fills: int, threads: Sequence[int], *, is_weighted: bool) -> dict[str, Way]:
    """Each way for each number of threads."""
    entries = _core.FillEntries(n_fills)
    return {
        name_of(name, n): partial(_time, entries, n_fills, way, n, is_weighted)
        for n in threads
        for name, way in {**PUBLISHED, **OURS}.items()
    }


def _time(
    entries: _core.FillEntries, n_fills: int, way: str, n_threads: int, is_weighted: bool
) -> Mapping[str, float]:
    """Time of each fill per core, and CPU time of each [s]."""
    values = {}
    for bins in BINS:
        wall_s, cpu_s = entries.time_fills(
            way=way, n_axes=bins.n_axes, n_bins=bins.n_bins, is_weighted=is_weighted,
            threads=n_threads,
        )  # fmt: skip
        values[bins.key] = wall_s * n_threads / n_fills
        values[f"{bins.key}_cpu"] = cpu_s / n_fills
    return values


COLUMNS = (
    *(Column(bins.key, f"{bins.title}: fill on a core", "time") for bins in BINS),
    *(Column(f"{bins.key}_cpu", f"{bins.title}: CPU", "time") for bins in BINS),
    Column("columns", "CPU of an entry in columns", "time"),
)
N_BLOCK = 65_536


def measure_histograms(
    n_fills: int, threads: Sequence[int], n_repeats: int, *, quiet: bool = False
) -> Study:
    """Measures fills of one entry at a time on these numbers of threads, in order, and of blocks of
    columns."""
    ways = {**thread_ways(n_fills, threads, is_weighted=False), **column_ways(n_fills, N_BLOCK)}
    rows, load = measure_ways(ways, n_repeats, quiet=quiet)
    by_name = {row.name: row for row in rows}
    crossing = buffered_from(by_name, threads)
    name = f"{count(n_fills)} fills"
    return Study(
        "histograms", name, COLUMNS, rows, load, _conclusions(by_name, threads, crossing),
        [
            "copies: a table for each thread; lock: one table, a lock for each fill; buffer: one"
            " table, a buffer of fills for each thread; forkrun: one table of exact sums, which do"
            " not depend on the order. On a core: wall time × threads / fills. 1,000 of 1,000 bins:"
            " one histogram with an axis for which of them",
        ],
        [] if crossing is None
        else [Figure.of("P5.4", "buffered better than locked from", float(crossing))],
        _plot(name, by_name, threads),
    )  # fmt: skip


def buffered_from(by_name: Mapping[str, Row], threads: Sequence[int]) -> int | None:
    """Smallest number of threads from which a buffer is faster than a lock, for many histograms;
    None: never."""
    key, found = BINS[-1].key, None
    for n in reversed(threads):
        if by_name[name_of("buffer", n)][key] >= by_name[name_of("lock", n)][key]:
            break
        found = n
    return found


def _conclusions(
    by_name: Mapping[str, Row], threads: Sequence[int], crossing: int | None
) -> list[str]:
    lines = []
    for bins in BINS:
        for n in threads:
            best = min(PUBLISHED, key=lambda way: by_name[name_of(way, n)][bins.key])
            ratio = by_name[name_of(best, n)][bins.key] / by_name[name_of("forkrun", n)][bins.key]
            lines.append(
                f"{bins.title}, {n} threads: the best published way ({best}) takes {ratio:.2f}"
                " times forkrun's time"
            )
    where = "at no number of threads" if crossing is None else f"from {crossing} threads on"
    lines.append(f"a buffer is quicker than a lock {where}")
    for name in HISTOGRAMS:
        theirs, ours = (by_name[f"{name}: {who}"]["columns"] for who in ("hist", "forkrun"))
        lines.append(f"{name}, in columns: hist takes {theirs / ours:.2f} times forkrun's CPU time")
    return lines


def _plot(name: str, by_name: Mapping[str, Row], threads: Sequence[int]) -> Plot:
    """Time per core against threads, for many histograms, as published."""
    bins = BINS[-1]
    curves = []
    for way in (*PUBLISHED, *OURS):
        of_way = [(float(n), by_name[name_of(way, n)].values[bins.key]) for n in threads]
        curves.append(Curve(way, [(n, 1e9 * time.value, time.noise) for n, time in of_way]))
    return Plot(
        "Filling histograms from several threads", f"{bins.title}, {name}", "threads",
        "time of a fill on a core [ns]", curves, x_log=2,
    )  # fmt: skip
