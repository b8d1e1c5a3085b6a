"""Plots of measured memory, and of memory that became private. Loads matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from forkrun.base.quantities import megabytes, percent, plural
from forkrun.monitoring.report.memory_detail import NO_OWNER, MemoryDetail
from forkrun.monitoring.report.plot_style import (
    GRID,
    INK,
    MUTED,
    RUN_SHADES,
    SHARED,
    new_figure,
    save_all,
)
from forkrun.studies.measure.memory import MemoryMeasurement, Moment

_GB = 1e9
_MB = 1e6
_PRIVATE = RUN_SHADES[1][0]
_FORKED = RUN_SHADES[0][0]
_N_ROWS = 12


def plot(measured: MemoryMeasurement | MemoryDetail, folder: Path) -> list[Path]:
    """Writes `memory-processes` and `memory-total`, or `unshared`, as PNG and SVG. Raises
    OutputError."""
    if isinstance(measured, MemoryDetail):
        figures = {"unshared": _draw_unshared(measured)}
    else:
        figures = {
            "memory-processes": _draw_processes(measured),
            "memory-total": _draw_total(measured),
        }
    return save_all(figures, folder, "png", "svg")


def _draw_processes(measurement: MemoryMeasurement) -> Figure:
    """Mean child and a separate process against time: private below, shared above."""
    n = measurement.forked.n_children
    figure, axes = new_figure(
        9,
        4.2,
        "Memory of a process",
        f"mean of {plural(n, 'child')} (left), a separate process (right)",
    )
    axes.set_axis_off()
    names = (f"one of {plural(n, 'child')}", "a separate process")
    series = (measurement.children_against_time, measurement.separate_against_time)
    top = 1.08 * max(m.private_bytes + m.shared_bytes for moments in series for m in moments) / _MB
    for i, (name, moments) in enumerate(zip(names, series, strict=True)):
        part = axes.inset_axes((0.54 * i, 0.0, 0.46, 0.95))
        _draw_moments(part, moments)
        part.set(xlabel="time [s]", ylim=(0, top))
        part.set_title(name, fontsize=10, color=INK)
        if i == 0:
            part.set_ylabel("memory [MB]", color=INK)
            part.legend(frameon=False, fontsize=8.5, labelcolor=INK, loc="upper left")
    return figure


def _draw_moments(axes: Axes, moments: Sequence[Moment]) -> None:
    time_s = [moment.time_s for moment in moments]
    axes.stackplot(
        time_s,
        [moment.private_bytes / _MB for moment in moments],
        [moment.shared_bytes / _MB for moment in moments],
        labels=["private", "shared"],
        colors=[_PRIVATE, SHARED],
    )
    axes.grid(axis="y", color=GRID)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _draw_total(measurement: MemoryMeasurement) -> Figure:
    """All processes together against their number."""
    n, mix = measurement.forked.n_children, measurement.separate.mix
    subtitle = (
        f"{plural(n, 'child')} {'saves' if n == 1 else 'save'} {percent(measurement.saving, 1)}"
        " of the memory of separate processes;"
        f" arithmetic allows {percent(measurement.ideal_saving, 1)}"
    )
    figure, axes = new_figure(7, 4.2, "Memory of all processes", subtitle)
    numbers = range(1, n + 1)
    separate = [mix.separate_bytes(k) / _GB for k in numbers]
    ideal = [mix.forked_bytes(k) / _GB for k in numbers]
    axes.plot(numbers, separate, color=_PRIVATE, label="separate processes, added up")
    axes.plot(numbers, ideal, color=MUTED, linestyle="--", label="ideal sharing")
    axes.plot(
        [n], [measurement.forked_bytes / _GB], "o", color=_FORKED,
        label="parent and children, measured",
    )  # fmt: skip
    axes.set_xlabel("processes", color=INK)
    axes.set_ylabel("memory [GB]", color=INK)
    axes.set_xlim(0, n * 1.04)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylim(0, None)
    axes.grid(axis="y", color=GRID)
    axes.legend(frameon=False, fontsize=8.5, labelcolor=INK)
    return figure


def _draw_unshared(unshared: MemoryDetail) -> Figure:
    """A bar for each of the largest rows; colours show the event before memory became private."""
    rows = [row for row in unshared.rows[:_N_ROWS] if row.private_bytes][::-1]
    subtitle = (
        f"{megabytes(unshared.private_bytes_per_child)} per child, of"
        f" {megabytes(unshared.at_fork_bytes)}; colours: after what"
    )
    height = 1.6 + 0.36 * max(len(rows), 1)
    figure, axes = new_figure(9, height, "Memory that became private", subtitle)
    borders = sorted({border for row in rows for border in row.after})
    left = [0.0] * len(rows)
    for i, border in enumerate(borders):
        widths = [row.after.get(border, 0.0) / _MB for row in rows]
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
