"""Fills of one entry at a time by threads: the three published ways, and forkrun's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from msgspec import Struct

from forkrun import _core
from forkrun.studies.frame.repeats import Way

PUBLISHED = {"copies": "copy", "lock": "lock", "buffer": "buffer"}
OURS = {"forkrun": "exact"}
"""Names of ways, and what the core calls them."""


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
"""The published thousand histograms are one with an axis more: which of them is filled."""


def name_of(way: str, n_threads: int) -> str:
    """Name of a row."""
    return f"{way}, {n_threads} thread{'s' * (n_threads > 1)}"


def thread_ways(n_fills: int, threads: Sequence[int], *, is_weighted: bool) -> dict[str, Way]:
    """Each way on each number of threads."""
    entries = _core.FillEntries(n_fills)
    return {
        name_of(name, n): partial(_time, entries, n_fills, way, n, is_weighted)
        for n in threads
        for name, way in {**PUBLISHED, **OURS}.items()
    }


def _time(
    entries: _core.FillEntries, n_fills: int, way: str, n_threads: int, is_weighted: bool
) -> Mapping[str, float]:
    """Time of each fill on its core, and CPU time of each [s]."""
    values = {}
    for bins in BINS:
        wall_s, cpu_s = entries.time_fills(
            way=way, n_axes=bins.n_axes, n_bins=bins.n_bins, is_weighted=is_weighted,
            threads=n_threads,
        )  # fmt: skip
        values[bins.key] = wall_s * n_threads / n_fills
        values[f"{bins.key}_cpu"] = cpu_s / n_fills
    return values
