"""Shared and private memory of parent and children against time, stacked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from forkrun.base.quantities import percent, size
from forkrun.monitoring.records import RunRecords
from forkrun.monitoring.report.memory import summarize_memory
from forkrun.monitoring.report.memory_curves import memory_curves
from forkrun.monitoring.report.plots.style import (
    GRID,
    INK,
    PARENT,
    SHARED,
    mark_phases,
    new_figure,
)

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
        f" {peak.n_processes} processes,"
        f" {size(peak.shared_bytes)} of it shared; {percent(memory.saving_fraction, 0)} less than"
        " unshared"
    )
    figure, axes = new_figure(8, 4.2, "Memory of parent and children", subtitle)
    unit_bytes, unit = (GB, "GB") if peak.rss_bytes >= 2 * GB else (MB, "MB")
    _draw(axes, records, unit_bytes)
    axes.set_xlabel("time since job start [s]", color=INK)
    axes.set_ylabel(f"memory [{unit}]", color=INK)
    axes.grid(axis="y", color=GRID)
    mark_phases(axes, records)
    return figure


def _draw(axes: Axes, records: RunRecords, unit_bytes: int) -> None:
    curves = memory_curves(records)
    x = curves.time_s - records.start_s
    children = sorted({s.child for s in records.samples if s.child is not None})
    rows: list[int | None] = [None, *children]
    axes.stackplot(
        x,
        np.stack([curves.shared, *(curves.private[who] for who in rows)]) / unit_bytes,
        labels=_labels(children),
        colors=[SHARED, PARENT, *_shades(len(children))],
        edgecolor="white",
        linewidth=0.4,
    )
    unshared = curves.rss / unit_bytes
    label = "if nothing were shared"
    axes.plot(x, unshared, color=INK, linewidth=1.2, linestyle="--", label=label)
    axes.set_xlim(min(0.0, x[0]), x[-1])
    axes.set_ylim(0, 1.12 * unshared.max())
    _legend(axes)


def _labels(children: Sequence[int]) -> list[str]:
    names = [f"child {child}, private" for child in children]
    if len(children) > MAX_CHILDREN_IN_LEGEND:
        names = [f"{len(children)} children, private", *(["_"] * (len(children) - 1))]
    return ["shared", "parent, private", *names]


def _legend(axes: Axes) -> None:
    """Draws the legend in the order of the stack, next to the plot."""
    handles, texts = axes.get_legend_handles_labels()
    shown = [i for i, text in enumerate(texts) if not text.startswith("_")][::-1]
    axes.legend(
        [handles[i] for i in shown], [texts[i] for i in shown],
        loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, fontsize=8.5, labelcolor=INK,
    )  # fmt: skip


def _shades(n: int) -> list[str]:
    """Warm shades that alternate slightly to distinguish neighbours."""
    ramp = colormaps["YlOrBr"]
    positions = 0.3 + 0.4 * np.arange(n) / max(n - 1, 1)
    return [_hex(ramp(x)) for x in positions]


def _hex(rgba: tuple[float, float, float, float]) -> str:
    return "#" + "".join(f"{round(255 * c):02x}" for c in rgba[:3])
