"""Fills in columns from Python: booked histograms, whose sums are exact, against hist's own."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import hist
import numpy as np
import numpy.typing as npt
from msgspec import Struct

from forkrun.histograms.booking import BookedHistogram
from forkrun.studies.frame.repeats import Way

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
