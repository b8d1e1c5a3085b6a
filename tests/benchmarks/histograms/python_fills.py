"""Column fills of booked histograms, whose sums are exact, against hist's own, in one run.

Prints CPU time per entry of both and the ratio hist / forkrun: above 1, forkrun is faster. The best
of several turns counts, which alternate."""

from __future__ import annotations

from itertools import product

import numpy as np

from forkrun.studies.histograms import HISTOGRAMS, make_fills

N_ENTRIES = 1_000_000
BLOCKS = (65_536, 5_000)
TURNS = 7


def main() -> None:
    print(f"{'':56} {'hist':>8} {'forkrun':>8}  ratio")
    kinds = (np.float64, np.float32)
    for name, is_weighted, kind, n_block in product(HISTOGRAMS, (True, False), kinds, BLOCKS):
        fills = make_fills(name, N_ENTRIES, n_block, is_weighted=is_weighted, kind=kind)
        times = [[fills.time(booked=b)["columns"] for b in (False, True)] for _ in range(TURNS)]
        theirs, ours = (1e9 * min(t[n] for t in times) for n in (0, 1))
        words = "weighted" if is_weighted else "not weighted"
        what = f"{name}, {words}, {np.dtype(kind)}, blocks of {n_block}"
        print(f"{what:56} {theirs:5.1f} ns {ours:5.1f} ns  {theirs / ours:.2f}")
