"""The common plot of studies: our curves and published points. Loads matplotlib."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullLocator

from forkrun.monitoring.report.plot_style import GRID, INK, MUTED, RUN_SHADES, new_figure, save
from forkrun.studies.frame.study import Curve, Plot

_MARKERS = "osD^vPX"
_COLOURS = (*(shades[0] for shades in RUN_SHADES), "#b33f62", "#5b6b3a")


def write_plot(plot: Plot, file: Path, *, is_conclusive: bool = True) -> None:
    """Writes PNG, SVG or PDF, depending on the name. Raises OutputError."""
    marked = plot.subtitle if is_conclusive else f"{plot.subtitle} (busy machine: not conclusive)"
    figure, axes = new_figure(6.6, 3.5, plot.title, marked)
    ours = theirs = 0
    for curve in plot.curves:
        turn = theirs if curve.theirs else ours
        _draw(axes, curve, turn)
        ours, theirs = ours + (not curve.theirs), theirs + curve.theirs
    _axes(axes, plot)
    save(figure, file)


def _draw(axes: Axes, curve: Curve, turn: int) -> None:
    """Draws a curve: ours filled and coloured, published ones open and grey."""
    colour = MUTED if curve.theirs else _COLOURS[turn % len(_COLOURS)]
    axes.errorbar(
        [point[0] for point in curve.points],
        [point[1] for point in curve.points],
        yerr=[0.5 * point[2] * point[1] if len(point) > 2 else 0.0 for point in curve.points],
        color=colour, label=curve.name, marker=_MARKERS[turn % len(_MARKERS)], markersize=6,
        markerfacecolor="white" if curve.theirs else colour, elinewidth=1, capsize=2,
        linestyle="none" if len(curve.points) == 1 else "--" if curve.theirs else "-",
        linewidth=1.5, zorder=3 if curve.theirs else 4,
    )  # fmt: skip


def _axes(axes: Axes, plot: Plot) -> None:
    axes.set_xlabel(plot.x_label, color=INK)
    axes.set_ylabel(plot.y_label, color=INK)
    if plot.ticks:
        axes.set_xticks(range(len(plot.ticks)), list(plot.ticks))
        axes.set_xlim(-0.4, len(plot.ticks) - 0.6)
    elif plot.x_log:
        axes.set_xscale("log", base=plot.x_log)
        places = sorted({point[0] for curve in plot.curves for point in curve.points})
        axes.set_xticks(places, [f"{place:g}" for place in places])
        axes.minorticks_off()
    if plot.y_log:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        axes.set_ylim(0, None)
    if plot.ideal is not None:
        axes.axhline(plot.ideal, color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.grid(axis="y", color=GRID)
    axes.legend(frameon=False, fontsize=8.5, labelcolor=INK, loc="center left",
                bbox_to_anchor=(1.0, 0.5))  # fmt: skip
