"""Utilization against the number of children, a line for each distribution."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes

from forkrun.monitoring.report.plots.style import GRID, INK, MUTED, RUN_SHADES, new_figure, save
from forkrun.studies.simulation.compare import Simulated
from forkrun.studies.simulation.report import Simulation

_COLOURS = {
    "guided": RUN_SHADES[0][0],
    "lumi": RUN_SHADES[2][0],
    "contiguous": RUN_SHADES[1][0],
}
_MARKERS = {"guided": "o", "lumi": "s", "contiguous": "v"}


def write_plot(simulation: Simulation, path: Path) -> None:
    """PNG, SVG or PDF, as the name says."""
    subtitle = f"{simulation.input}; {simulation.costs}"
    figure, axes = new_figure(7, 4, "Utilization by distribution, simulated", subtitle)
    for name in dict.fromkeys(row.distribution for row in simulation.rows):
        _draw(axes, name, [row for row in simulation.rows if row.distribution == name])
    children = sorted({row.children for row in simulation.rows})
    axes.set_xscale("log", base=2)
    axes.set_xticks(children, [str(n) for n in children])
    axes.minorticks_off()
    axes.set_ylim(0, 1.05)
    axes.set_xlabel("children", color=INK)
    axes.set_ylabel("utilization", color=INK)
    axes.axhline(1, color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.grid(axis="y", color=GRID)
    axes.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))
    save(figure, path)


def _draw(axes: Axes, name: str, rows: Sequence[Simulated]) -> None:
    turn = name.removeprefix("round-robin ")
    colour = _COLOURS.get(name, RUN_SHADES[3][turn != "1"])
    axes.plot(
        [row.children for row in rows],
        [row.utilization or 0.0 for row in rows],
        color=colour,
        marker=_MARKERS.get(name, "D"),
        markersize=4,
        linewidth=2 if name == "guided" else 1.3,
        zorder=4 if name == "guided" else 3,
        label=name,
    )
