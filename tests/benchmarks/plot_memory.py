"""Draws what bench_memory.py measured: `plot_memory.py build/bench/memory.json docs/images`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from forkrun.monitoring.report.plot_style import GRID, INK, MUTED, RUN_SHADES, new_figure, save

BLUE, ORANGE = RUN_SHADES[0][0], RUN_SHADES[1][0]
Rows = Sequence[dict[str, Any]]


def main() -> None:
    """One PNG for each case that was measured."""
    figures, folder = Path(sys.argv[1]), Path(sys.argv[2])
    results = json.loads(figures.read_text(encoding="utf-8"))["results"]
    for case, draw in DRAWINGS.items():
        if case in results:
            draw(results[case], folder / f"memory-{case}.png")


def draw_reading(rows: Rows, path: Path) -> None:
    """Private memory against passes over the same objects."""
    subtitle = f"a child reads 1,000,000 tuples of a float and a text, Python {rows[0]['python']}"
    figure, axes = new_figure(7, 3.2, "Reading Python objects copies their pages", subtitle)
    looks = {
        (True, False): (ORANGE, "garbage collector frozen", "-"),
        (False, False): (INK, "as it is", "--"),
        (True, True): (BLUE, "objects immortal", "-"),
    }
    for (freeze, immortal), (colour, label, line) in looks.items():
        of = [r for r in rows if (r["freeze"], r["immortal"]) == (freeze, immortal)]
        _line(axes, of, "passes", "private_mb", colour, label, line)
    axes.set_xticks([0, 1, 2])
    _finish(axes, "passes over all objects", "private memory of the child [MB]")
    save(figure, path)


def draw_holes(rows: Rows, path: Path) -> None:
    """Private memory against how full the parent's pages are."""
    subtitle = "a child makes 8 MB of objects; the parent had made 1,000,000 and freed some"
    figure, axes = new_figure(7, 3.2, "Objects in the holes between the parent's", subtitle)
    for fill, colour, label in ((False, ORANGE, "holes left"), (True, BLUE, "holes filled")):
        of = [row | {"kept": 100 * row["kept"]} for row in rows if row["fill_holes"] is fill]
        _line(axes, of, "kept", "private_mb", colour, label)
    _finish(axes, "objects that the parent has kept [%]", "private memory of the child [MB]")
    save(figure, path)


def draw_fork(rows: Rows, path: Path) -> None:
    """Time of a fork against the memory of the parent."""
    subtitle = "the shortest of ten; a fork copies the page table, an entry for every page"
    figure, axes = new_figure(7, 3.2, "A fork takes longer the more pages there are", subtitle)
    looks = {
        ("objects", "no"): (ORANGE, "Python objects, pages of 4 KiB"),
        ("objects", "first"): (BLUE, "Python objects, huge pages"),
        ("arrays", "no"): (MUTED, "arrays of 8 MB"),
    }
    for (what, huge), (colour, label) in looks.items():
        of = [r for r in rows if (r["what"], r["huge_pages"]) == (what, huge)]
        _line(axes, of, "gigabytes", "fork_ms", colour, label)
    _finish(axes, "memory of the parent [GB]", "time of a fork [ms]")
    save(figure, path)


def _line(axes: Axes, rows: Rows, x: str, y: str, colour: str, label: str, line: str = "-") -> None:
    xs, ys = [row[x] for row in rows], [row[y] for row in rows]
    axes.plot(xs, ys, line, color=colour, label=label, marker="o", markersize=4, linewidth=1.8)


def _finish(axes: Axes, x_title: str, y_title: str) -> None:
    axes.set_xlabel(x_title, color=INK, fontsize=9)
    axes.set_ylabel(y_title, color=INK, fontsize=9)
    axes.set_ylim(bottom=0)
    axes.grid(color=GRID, linewidth=0.8)
    axes.legend(frameon=False, fontsize=9)


DRAWINGS: dict[str, Callable[[Rows, Path], None]] = {
    "reading": draw_reading,
    "holes": draw_holes,
    "fork": draw_fork,
}

if __name__ == "__main__":
    main()
