"""Plots of a job. Importing this package loads matplotlib: do it where nothing forks any more."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from forkrun.monitoring.records import RunRecords
from forkrun.monitoring.report.plots.activity import draw_activity
from forkrun.monitoring.report.plots.memory import draw_memory
from forkrun.monitoring.report.plots.style import save


def write_plots(folder: Path, records: RunRecords) -> list[Path]:
    """Writes `memory` and `activity` as PNG, SVG and PDF; leaves out what has no data."""
    figures = {"memory": draw_memory(records), "activity": draw_activity(records)}
    return [
        path for name, figure in figures.items() if figure for path in _save(figure, folder / name)
    ]


def _save(figure: Figure, stem: Path) -> list[Path]:
    paths = [stem.with_suffix(suffix) for suffix in (".png", ".svg", ".pdf")]
    for path in paths:
        save(figure, path)
        figure.set_layout_engine("none")  # it is laid out now, which takes half of the time
    return paths
