"""The common look: object-oriented matplotlib with the Agg canvas, no global state."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from forkrun.base.durable import open_new, published
from forkrun.monitoring.records import RunRecords

INK = "#22282f"
MUTED = "#7b8794"
GRID = "#e3e8ee"
SHARED = "#9db7d5"
PARENT = "#44546a"
# Two shades per run, for alternating lumis; runs take turns.
RUN_SHADES = (
    ("#2f6db3", "#86b1de"),
    ("#d9822b", "#f2bd86"),
    ("#3d8f5f", "#93cbab"),
    ("#8458b3", "#c2a5e0"),
)
DPI = 150


def new_figure(width_in: float, height_in: float, title: str, subtitle: str) -> tuple[Figure, Axes]:
    """Empty plot with a title at the left and a line of figures below it."""
    figure = Figure(figsize=(width_in, height_in), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_title(f"{title}\n", loc="left", fontsize=12, fontweight="bold", color=INK)
    axes.text(0, 1.02, subtitle, transform=axes.transAxes, fontsize=9, color=MUTED, va="bottom")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(MUTED)
    axes.tick_params(colors=INK, labelsize=9)
    axes.set_axisbelow(True)
    return figure, axes


def mark_phases(axes: Axes, records: RunRecords) -> None:
    """Draws thin lines at the fork of the children and at the begin of the merge."""
    start_s = records.start_s
    transform = axes.get_xaxis_transform()
    for event, word in (("fork", "fork"), ("merge_start", "merge")):
        times = records.times(event)
        if times:
            x = times[0] - start_s
            axes.axvline(x, color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)), zorder=3)
            # Clipped: a merge long after the job must not distort the layout.
            look: dict[str, Any] = {"fontsize": 8, "color": MUTED, "va": "top", "clip_on": True}
            axes.text(x, 0.995, f" {word}", transform=transform, **look)


def save_all(figures: Mapping[str, Figure], folder: Path, *endings: str) -> list[Path]:
    """Saves each under its name, in several formats. Raises OutputError."""
    files = [folder / f"{name}.{ending}" for name in figures for ending in endings]
    for file in files:
        save(figures[file.stem], file)
        figures[file.stem].set_layout_engine("none")  # keep the layout: halves the time
    return files


def save(figure: Figure, path: Path) -> None:
    """Saves the plot in the format of its suffix; text stays text in an SVG."""
    with (
        rc_context({"svg.fonttype": "none", "svg.hashsalt": "forkrun"}),
        published(path) as temporary,
        open_new(temporary) as file,
    ):
        figure.savefig(file, format=path.suffix[1:], dpi=DPI, facecolor="white")
