"""Plots of a job. This package loads matplotlib: import it only after the last fork."""

from __future__ import annotations

from pathlib import Path

from forkrun.monitoring.records import RunRecords
from forkrun.monitoring.report.plots.activity import draw_activity
from forkrun.monitoring.report.plots.memory import draw_memory
from forkrun.monitoring.report.plots.style import save_all
from forkrun.monitoring.report.summary import Summary


def write_plots(folder: Path, records: RunRecords, summary: Summary) -> list[Path]:
    """Writes `memory` and `activity` as PNG, SVG and PDF; leaves out plots without data."""
    drawn = {"memory": draw_memory(records), "activity": draw_activity(records, summary)}
    figures = {name: figure for name, figure in drawn.items() if figure}
    return save_all(figures, folder, "png", "svg", "pdf")
