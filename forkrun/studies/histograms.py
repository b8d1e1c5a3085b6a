"""`forkrun measure histograms`: times of fills, by threads and in columns from Python."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import hist
import numpy as np
import numpy.typing as npt
from msgspec import Struct

from forkrun import _core
from forkrun.base.quantities import plural
from forkrun.histograms.booking import BookedHistogram
from forkrun.monitoring.tables import Column
from forkrun.studies.frame.repeats import Row, Way, measure_ways
from forkrun.studies.frame.study import Curve, Figure, Plot, Study

_NEW: Any = hist.Hist.new
HISTOGRAMS: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "100 bins": (lambda: _NEW.Reg(100, 0, 1).Weight(), ("x",)),
    "1000 x 1000 bins": (lambda: _NEW.Reg(1000, 0, 1).Reg(1000, 0, 1).Weight(), ("x", "y")),
    "100 variable bins": (lambda: _NEW.Var(np.linspace(0, 1, 101)).Weight(), ("x",)),
    "profile, 100 bins": (lambda: _NEW.Reg(100, 0, 1).WeightedMean(), ("x",)),
}
"""Constructor of each histogram, and the columns of its axes."""


class Fills(Struct, frozen=True, eq=False):
    """Entries for one of HISTOGRAMS, filled `n_block` at a time."""

    histogram: str
    columns: list[npt.NDArray[Any]]
    options: dict[str, npt.NDArray[Any]]
    n_block: int

    def time(self, *, booked: bool) -> Mapping[str, float]:
        """CPU time per entry [s], in a booked histogram or hist's own."""
        made = HISTOGRAMS[self.histogram][0]()
        target = BookedHistogram("h", made).histogram if booked else made
        n_entries, start_s = len(self.columns[0]), time.thread_time()
        for first in range(0, n_entries, self.n_block):
            block = slice(first, first + self.n_block)
            options = {key: column[block] for key, column in self.options.items()}
            target.fill(*(column[block] for column in self.columns), **options)
        return {"columns": (time.thread_time() - start_s) / n_entries}


def make_fills(
    histogram: str, n_entries: int, n_block: int, *, is_weighted: bool, kind: npt.DTypeLike
) -> Fills:
    """Makes entries from 0 to 1, with falling weights. `kind`: type of the columns."""
    random = np.random.default_rng(1)
    columns = {name: random.random(n_entries).astype(kind) for name in ("x", "y")}
    options = {}
    if is_weighted:
        options["weight"] = (random.exponential(size=n_entries) + 0.01).astype(kind)
    if "profile" in histogram:
        options["sample"] = columns["y"]
    return Fills(histogram, [columns[axis] for axis in HISTOGRAMS[histogram][1]], options, n_block)


def column_ways(n_entries: int, n_block: int) -> dict[str, Way]:
    """Fills by hist and forkrun of each histogram, with weights in doubles."""
    ways: dict[str, Way] = {}
    for name in HISTOGRAMS:
        fills = make_fills(name, n_entries, n_block, is_weighted=True, kind=np.float64)
        for who, booked in (("hist", False), ("forkrun", True)):
            ways[f"{name}: {who}"] = partial(fills.time, booked=booked)
    return ways


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
    return f"{way}, {plural(n_threads, 'thread')}"


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
    crossing = buffered_from(rows, threads)
    name = plural(n_fills, "fill")
    return Study(
        "histograms", name, COLUMNS, rows, load, _conclusions(rows, threads, crossing),
        [
            "copies: a table for each thread; lock: one table, a lock for each fill; buffer: one"
            " table, a buffer of fills for each thread; forkrun: one table of exact sums, which do"
            " not depend on the order. On a core: wall time × threads / fills. 1,000 of 1,000 bins:"
            " one histogram with an axis for which of them",
        ],
        [] if crossing is None
        else [Figure.of("P5.4", "buffered better than locked from", float(crossing))],
        _plot(name, rows, threads),
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
                f"{bins.title}, {plural(n, 'thread')}: the best published way ({best}) takes"
                f" {ratio:.2f} times forkrun's time"
            )
    where = (
        "at no number of threads" if crossing is None else f"from {plural(crossing, 'thread')} on"
    )
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
