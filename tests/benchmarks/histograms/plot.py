"""Draws fills per second against the number of bins, a panel for each number of threads."""

from __future__ import annotations

from pathlib import Path

import matplotlib
from threads import WAYS, Rate

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def draw(rates: list[Rate], path: Path) -> None:
    threads = sorted({rate.n_threads for rate in rates})
    shape = {"nrows": 2, "ncols": len(threads), "squeeze": False, "sharex": True, "sharey": True}
    figure, panels = plt.subplots(figsize=(4 * len(threads), 7), **shape)
    for row, is_weighted in zip(panels, (False, True), strict=True):
        for panel, n_threads in zip(row, threads, strict=True):
            for way in WAYS:
                points = sorted(
                    (r.n_bins**r.n_axes, r.fills_per_s)
                    for r in rates
                    if (r.way, r.is_weighted, r.n_threads) == (way, is_weighted, n_threads)
                )
                if points:
                    panel.loglog(*zip(*points, strict=True), marker="o", label=way)
            panel.set_title(f"{n_threads} threads{', weights' * is_weighted}")
            panel.set_xlabel("bins")
    panels[0][0].set_ylabel("million fills / s")
    panels[0][0].legend()
    figure.tight_layout()
    figure.savefig(path)
