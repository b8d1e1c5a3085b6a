"""Column fills of booked histograms, whose sums are exact, against hist's own, in one run.

Prints CPU time per entry of both and the ratio hist / forkrun: above 1, forkrun is faster. The best
of several turns counts, which alternate."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import hist
import numpy as np

from forkrun.histograms.booking import BookedHistogram

N_ENTRIES = 1_000_000
BLOCKS = (65_536, 5_000)
TURNS = 7
NEW = hist.Hist.new
CASES: list[tuple[str, Callable[[], Any], tuple[str, ...]]] = [
    ("100 bins", lambda: NEW.Reg(100, 0, 1).Weight(), ("x",)),
    (
        "1000 x 1000 bins",
        lambda: NEW.Reg(1000, 0, 1).Reg(1000, 0, 1).Weight(),
        ("x", "y"),
    ),
    ("100 variable bins", lambda: NEW.Var(np.linspace(0, 1, 101)).Weight(), ("x",)),
    ("profile, 100 bins", lambda: NEW.Reg(100, 0, 1).WeightedMean(), ("x",)),
]


def fill(histogram: Any, args: list[Any], options: dict[str, Any], n_block: int) -> float:
    """CPU seconds of all blocks."""
    start = time.thread_time()
    for first in range(0, N_ENTRIES, n_block):
        block = slice(first, first + n_block)
        histogram.fill(*(a[block] for a in args), **{k: v[block] for k, v in options.items()})
    return time.thread_time() - start


def compare(title: str, make: Callable[[], Any], args: list[Any], options: dict[str, Any]) -> None:
    for n_block in BLOCKS:
        pair = make(), BookedHistogram("h", make()).histogram
        times = [[fill(h, args, options, n_block) for h in pair] for _ in range(TURNS)]
        theirs, ours = (min(t[n] for t in times) / N_ENTRIES * 1e9 for n in (0, 1))
        what = f"{title}, blocks of {n_block}"
        print(f"{what:56} {theirs:5.1f} ns {ours:5.1f} ns  {theirs / ours:.2f}")


def main() -> None:
    random = np.random.default_rng(1)
    columns = {"x": random.random(N_ENTRIES), "y": random.random(N_ENTRIES)}
    weights = random.exponential(size=N_ENTRIES) + 0.01
    print(f"{'':56} {'hist':>8} {'forkrun':>8}  ratio")
    for name, make, axes in CASES:
        for is_weighted in (True, False):
            for kind in (np.float64, np.float32):
                options = {"weight": weights.astype(kind)} if is_weighted else {}
                if "profile" in name:
                    options["sample"] = columns["y"].astype(kind)
                args = [columns[axis].astype(kind) for axis in axes]
                words = "weighted" if is_weighted else "not weighted"
                compare(f"{name}, {words}, {np.dtype(kind)}", make, args, options)
