"""Plots of a job. Loads matplotlib: import it only after the last fork."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from forkrun.base.quantities import percent, plural, seconds, size
from forkrun.monitoring.records import RunRecords
from forkrun.monitoring.report.children import Balance, ChildSummary
from forkrun.monitoring.report.memory import summarize_memory
from forkrun.monitoring.report.memory_curves import memory_curves
from forkrun.monitoring.report.plot_style import (
    GRID,
    INK,
    MUTED,
    PARENT,
    RUN_SHADES,
    SHARED,
    mark_phases,
    new_figure,
    save_all,
)
from forkrun.monitoring.report.summary import Summary
from forkrun.rundir.ledger import Commit

BAR_HEIGHT = 0.72
MAX_VECTOR_BARS = 5000
MAX_RUNS_IN_LEGEND = 4


def draw_activity(records: RunRecords, summary: Summary) -> Figure | None:
    """Plot with one row per child. Colours distinguish runs, shades alternate from lumi to lumi."""
    if not records.ledger:
        return None
    children = summary.children
    figure, axes = new_figure(
        8,
        min(1.7 + 0.32 * len(children), 12),
        "Activity of the children",
        _subtitle(summary.balance),
    )
    _draw_bars(axes, records, [child.child for child in children])
    _finish(axes, records, children)
    mark_phases(axes, records)
    return figure


def _subtitle(balance: Balance) -> str:
    ends = balance.end_times
    spread = f"; the last child ended {seconds(ends.range_s)} s after the first" if ends else ""
    return f"utilization {percent(balance.utilization)}{spread}"


def _draw_bars(axes: Axes, records: RunRecords, children: Sequence[int]) -> None:
    start_s, many = records.start_s, len(records.ledger) > MAX_VECTOR_BARS
    runs = enumerate(_runs(records.ledger))
    run_shades = {run: RUN_SHADES[i % len(RUN_SHADES)] for i, run in runs}
    for row, child in enumerate(children):
        units = [unit for unit in records.ledger if unit.child == child]
        axes.broken_barh(
            [(unit.start_s - start_s, unit.duration_s) for unit in units],
            (row - BAR_HEIGHT / 2, BAR_HEIGHT),
            facecolors=shades(units, run_shades),
            linewidth=0,
            rasterized=many,
            zorder=2,
        )


def shades(units: Sequence[Commit], run_shades: Mapping[int, Sequence[str]]) -> list[str]:
    """Colour of each of a child's units, in time order: the shade changes with the lumi."""
    colours, turn, before = [], -1, None
    for unit in units:
        if (unit.run, unit.lumi) != before:
            turn, before = turn + 1, (unit.run, unit.lumi)
        colours.append(run_shades[unit.run][turn % 2])
    return colours


def _runs(units: Sequence[Commit]) -> list[int]:
    return sorted({unit.run for unit in units})


def _finish(axes: Axes, records: RunRecords, children: Sequence[ChildSummary]) -> None:
    axes.set_yticks(range(len(children)), [str(child.child) for child in children])
    axes.set_ylim(len(children) - 0.4, -0.9)
    axes.set_ylabel("child", color=INK)
    axes.set_xlabel("time since job start [s]", color=INK)
    axes.set_xlim(0, records.end_s - records.start_s)
    axes.grid(axis="x", color=GRID)
    for row, child in enumerate(children):
        if child.failed:
            axes.text(
                child.end_s or 0,
                row,
                f" ✗ {child.status}",
                color="#b3261e",
                fontsize=8,
                va="center",
            )
    _legend_of_runs(axes, records)


def _legend_of_runs(axes: Axes, records: RunRecords) -> None:
    runs = _runs(records.ledger)
    shown = runs[:MAX_RUNS_IN_LEGEND]
    patches = [
        Patch(
            facecolor=RUN_SHADES[i][0], edgecolor=RUN_SHADES[i][1], linewidth=3, label=f"run {run}"
        )
        for i, run in enumerate(shown)
    ]
    if len(runs) > len(shown):
        patches.append(Patch(facecolor="none", label=f"and {len(runs) - len(shown)} more"))
    patches.append(Patch(facecolor="white", edgecolor=MUTED, linewidth=0.8, label="idle"))
    axes.legend(
        handles=patches, loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False,
        fontsize=8.5, labelcolor=INK, title="shades: lumis", title_fontsize=8,
    )  # fmt: skip


MB = 1_000_000
GB = 1_000_000_000
MAX_CHILDREN_IN_LEGEND = 8


def draw_memory(records: RunRecords) -> Figure | None:
    """Plot of the memory: the stack's height is the real memory of the job (PSS); the dashed line
    is the size without sharing (RSS)."""
    memory = summarize_memory(records)
    if memory is None or len(records.samples) < 2:
        return None
    peak = memory.peak
    subtitle = (
        f"peak {'at least ' * memory.is_at_least}{size(peak.pss_bytes)} in"
        f" {plural(peak.n_processes, 'process')},"
        f" {size(peak.shared_bytes)} of it shared; {percent(memory.saving_fraction, 0)} less than"
        " unshared"
    )
    figure, axes = new_figure(8, 4.2, "Memory of parent and children", subtitle)
    unit_bytes, unit = (GB, "GB") if peak.rss_bytes >= 2 * GB else (MB, "MB")
    _draw_layers(axes, records, unit_bytes)
    axes.set_xlabel("time since job start [s]", color=INK)
    axes.set_ylabel(f"memory [{unit}]", color=INK)
    axes.grid(axis="y", color=GRID)
    mark_phases(axes, records)
    return figure


def _draw_layers(axes: Axes, records: RunRecords, unit_bytes: int) -> None:
    curves = memory_curves(records)
    x = curves.time_s - records.start_s
    children = sorted({s.child for s in records.samples if s.child is not None})
    rows: list[int | None] = [None, *children]
    axes.stackplot(
        x,
        np.stack([curves.shared, *(curves.private[who] for who in rows)]) / unit_bytes,
        labels=_labels(children),
        colors=[SHARED, PARENT, *_warm_shades(len(children))],
        edgecolor="white",
        linewidth=0.4,
    )
    unshared = curves.rss / unit_bytes
    label = "if nothing were shared"
    axes.plot(x, unshared, color=INK, linewidth=1.2, linestyle="--", label=label)
    axes.set_xlim(min(0.0, x[0]), x[-1])
    axes.set_ylim(0, 1.12 * unshared.max())
    _legend_of_layers(axes)


def _labels(children: Sequence[int]) -> list[str]:
    names = [f"child {child}, private" for child in children]
    if len(children) > MAX_CHILDREN_IN_LEGEND:
        names = [f"{plural(len(children), 'child')}, private", *(["_"] * (len(children) - 1))]
    return ["shared", "parent, private", *names]


def _legend_of_layers(axes: Axes) -> None:
    """Draws the legend in the order of the stack, next to the plot."""
    handles, texts = axes.get_legend_handles_labels()
    shown = [i for i, text in enumerate(texts) if not text.startswith("_")][::-1]
    axes.legend(
        [handles[i] for i in shown], [texts[i] for i in shown],
        loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, fontsize=8.5, labelcolor=INK,
    )  # fmt: skip


def _warm_shades(n: int) -> list[str]:
    """Warm shades that alternate slightly to distinguish neighbours."""
    ramp = colormaps["YlOrBr"]
    positions = 0.3 + 0.4 * np.arange(n) / max(n - 1, 1)
    return [to_hex(ramp(x)) for x in positions]


def write_plots(folder: Path, records: RunRecords, summary: Summary) -> list[Path]:
    """Writes `memory` and `activity` as PNG, SVG and PDF; leaves out plots without data."""
    drawn = {"memory": draw_memory(records), "activity": draw_activity(records, summary)}
    figures = {name: figure for name, figure in drawn.items() if figure}
    return save_all(figures, folder, "png", "svg", "pdf")
