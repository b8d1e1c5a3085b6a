"""Shared and private memory of parent and children against time, stacked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from forkrun.monitoring.memory import MemoryTotals, memory_against_time
from forkrun.monitoring.plots.style import (
    GRID,
    INK,
    PARENT,
    SHARED,
    mark_phases,
    new_figure,
    start_of,
)
from forkrun.monitoring.quantities import percent, size
from forkrun.monitoring.records import RunRecords

MIB = 1 << 20
GIB = 1 << 30
MAX_CHILDREN_IN_LEGEND = 8


def draw_memory(records: RunRecords) -> Figure | None:
    """The stack's height is the real memory of the job (PSS); the dashed line is what the same
    processes would count if nothing were shared (RSS)."""
    totals = memory_against_time(records.samples)
    if len(totals) < 2:
        return None
    peak = max(totals, key=lambda look: look.pss_bytes)
    saved = 1 - peak.pss_bytes / peak.rss_bytes
    subtitle = (
        f"peak {size(peak.pss_bytes)} in {peak.n_processes} processes,"
        f" {size(peak.shared_bytes)} of it shared; {percent(saved, 0)} less than unshared"
    )
    figure, axes = new_figure(8, 4.2, "Memory of parent and children", subtitle)
    unit_bytes, unit = (GIB, "GiB") if peak.rss_bytes >= 2 * GIB else (MIB, "MiB")
    _draw(axes, records, totals, unit_bytes)
    axes.set_xlabel("time since job start [s]", color=INK)
    axes.set_ylabel(f"memory [{unit}]", color=INK)
    axes.grid(axis="y", color=GRID)
    mark_phases(axes, records)
    return figure


def _draw(axes: Axes, records: RunRecords, totals: Sequence[MemoryTotals], unit_bytes: int) -> None:
    start_s = start_of(records)
    time_s = np.array([look.time_s - start_s for look in totals])
    layers, labels, colours = _layers(records, totals)
    axes.stackplot(
        time_s, layers / unit_bytes, labels=labels, colors=colours, edgecolor="white", linewidth=0.4
    )
    rss = np.array([look.rss_bytes for look in totals]) / unit_bytes
    axes.plot(time_s, rss, color=INK, linewidth=1.2, linestyle="--", label="if nothing were shared")
    axes.set_xlim(min(0.0, time_s[0]), time_s[-1])
    axes.set_ylim(0, 1.12 * rss.max())
    handles, texts = axes.get_legend_handles_labels()
    shown = [i for i, text in enumerate(texts) if not text.startswith("_")][::-1]
    axes.legend(
        [handles[i] for i in shown], [texts[i] for i in shown],
        loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, fontsize=8.5, labelcolor=INK,
    )  # fmt: skip


def _layers(
    records: RunRecords, totals: Sequence[MemoryTotals]
) -> tuple[npt.NDArray[np.float64], list[str], list[str]]:
    """(n_layers, n_times) bytes from bottom to top: shared, private of the parent, then of
    each child."""
    children = sorted({s.child for s in records.samples if s.child is not None})
    row: dict[int | None, int] = {child: i + 2 for i, child in enumerate(children)}
    row[None] = 1
    column = {look.time_s: i for i, look in enumerate(totals)}
    layers = np.zeros((len(children) + 2, len(totals)))
    layers[0] = [look.shared_bytes for look in totals]
    for sample in records.samples:
        if sample.time_s in column:
            layers[row[sample.child], column[sample.time_s]] += sample.private_bytes
    names = [f"child {child}, private" for child in children]
    if len(children) > MAX_CHILDREN_IN_LEGEND:
        names = [f"{len(children)} children, private", *(["_"] * (len(children) - 1))]
    return layers, ["shared", "parent, private", *names], [SHARED, PARENT, *_shades(len(children))]


def _shades(n: int) -> list[str]:
    """Warm shades that alternate slightly, so that neighbours differ."""
    ramp = colormaps["YlOrBr"]
    positions = 0.3 + 0.4 * np.arange(n) / max(n - 1, 1)
    return [_hex(ramp(x)) for x in positions]


def _hex(rgba: tuple[float, float, float, float]) -> str:
    return "#" + "".join(f"{round(255 * c):02x}" for c in rgba[:3])
