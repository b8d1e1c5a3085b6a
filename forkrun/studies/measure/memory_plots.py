"""Plots of a memory measurement. Loads matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from forkrun.base.quantities import percent
from forkrun.monitoring.plots.style import GRID, INK, MUTED, RUN_SHADES, SHARED, new_figure, save
from forkrun.studies.measure.memory import MemoryMeasurement
from forkrun.studies.measure.samples import Moment

_GB = 1e9
_MB = 1e6
_PRIVATE = RUN_SHADES[1][0]
_FORKED = RUN_SHADES[0][0]


def write_plots(measurement: MemoryMeasurement, folder: Path) -> list[Path]:
    """`memory-processes` and `memory-total` as PNG and SVG. Raises OutputError."""
    figures = {
        "memory-processes": _draw_processes(measurement),
        "memory-total": _draw_total(measurement),
    }
    files = [folder / f"{name}.{ending}" for name in figures for ending in ("png", "svg")]
    for file in files:
        save(figures[file.stem], file)
    return files


def _draw_processes(measurement: MemoryMeasurement) -> Figure:
    """Mean child and a separate process against time: private below, shared above."""
    n = measurement.forked.n_children
    figure, axes = new_figure(
        9, 4.2, "Memory of a process", f"mean of {n} children (left), a separate process (right)"
    )
    axes.set_axis_off()
    names = (f"one of {n} children", "a separate process")
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
        f"{n} children save {percent(measurement.saving, 1)} of the memory of separate processes;"
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
