"""Plots of unshared memory. Loads matplotlib."""

from __future__ import annotations

from pathlib import Path

from matplotlib import colormaps
from matplotlib.figure import Figure

from forkrun.base.quantities import megabytes
from forkrun.monitoring.plots.style import GRID, INK, new_figure, save
from forkrun.studies.measure.unshared import UnsharedMemory
from forkrun.studies.measure.unshared_report import NO_OWNER

_N_ROWS = 12


def write_plots(unshared: UnsharedMemory, folder: Path) -> list[Path]:
    """`unshared` as PNG and SVG. Raises OutputError."""
    figure = _draw(unshared)
    files = [folder / f"unshared.{ending}" for ending in ("png", "svg")]
    for file in files:
        save(figure, file)
    return files


def _draw(unshared: UnsharedMemory) -> Figure:
    """A bar for each of the largest rows; colours say what the memory became private after."""
    rows = [row for row in unshared.rows[:_N_ROWS] if row.private_bytes][::-1]
    subtitle = (
        f"{megabytes(unshared.private_bytes)} per child, of {megabytes(unshared.at_fork_bytes)};"
        " colours: after what"
    )
    height = 1.6 + 0.36 * max(len(rows), 1)
    figure, axes = new_figure(9, height, "Memory that became private", subtitle)
    borders = sorted({border for row in rows for border in row.after})
    left = [0.0] * len(rows)
    for i, border in enumerate(borders):
        widths = [row.after.get(border, 0.0) / 1e6 for row in rows]
        colour = colormaps["tab20"](i % 20)
        axes.barh(range(len(rows)), widths, left=left, color=colour, label=border, height=0.7)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    labels = [
        " · ".join(filter(None, (row.owner or NO_OWNER, row.type, row.where))) for row in rows
    ]
    axes.set_yticks(range(len(rows)), labels, fontsize=8)
    axes.set_xlabel("private memory per child [MB]", color=INK)
    axes.grid(axis="x", color=GRID)
    if borders:
        axes.legend(frameon=False, fontsize=8, labelcolor=INK, loc="lower right")
    return figure
