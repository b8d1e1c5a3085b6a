"""Shared and private memory of parent and children against time, stacked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from forkrun.base.quantities import percent, size
from forkrun.monitoring.records import RunRecords, Sample
from forkrun.monitoring.report.memory import summarize_memory
from forkrun.monitoring.report.plots.style import (
    GRID,
    INK,
    PARENT,
    SHARED,
    mark_phases,
    new_figure,
    start_of,
)

Curve: TypeAlias = npt.NDArray[np.float64]
Curves: TypeAlias = dict[int | None, Curve]

TINY_S = 1e-6
MB = 1_000_000
GB = 1_000_000_000
MAX_CHILDREN_IN_LEGEND = 8


def draw_memory(records: RunRecords) -> Figure | None:
    """The stack's height is the real memory of the job (PSS); the dashed line is what the same
    processes would count if nothing were shared (RSS)."""
    memory = summarize_memory(records)
    if memory is None or len(records.samples) < 2:
        return None
    peak = memory.peak
    subtitle = (
        f"peak {size(peak.pss_bytes)} in {peak.n_processes} processes,"
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
    time_s, private, pss, rss = memory_curves(records)
    x = time_s - start_of(records)
    children = sorted({s.child for s in records.samples if s.child is not None})
    rows: list[int | None] = [None, *children]
    shared = _sum(pss) - _sum(private)
    axes.stackplot(
        x,
        np.stack([shared, *(private[who] for who in rows)]) / unit_bytes,
        labels=_labels(children),
        colors=[SHARED, PARENT, *_shades(len(children))],
        edgecolor="white",
        linewidth=0.4,
    )
    unshared = _sum(rss) / unit_bytes
    label = "if nothing were shared"
    axes.plot(x, unshared, color=INK, linewidth=1.2, linestyle="--", label=label)
    axes.set_xlim(min(0.0, x[0]), x[-1])
    axes.set_ylim(0, 1.12 * unshared.max())
    _legend(axes)


def _sum(curves: Curves) -> Curve:
    total: Curve = np.sum(list(curves.values()), axis=0)
    return total


def memory_curves(records: RunRecords) -> tuple[Curve, Curves, Curves, Curves]:
    """Times (n,), and by child (None: the parent) private memory, PSS and RSS (n,) [bytes]:
    straight between a process's own samples, then its last value until it ends; else 0."""
    lives = [_life(records, who, pid) for who, pid in _processes(records)]
    edges = [t for _, samples, end_s in lives for t in (samples[0].time_s, end_s, end_s + TINY_S)]
    time_s = np.unique([*(sample.time_s for sample in records.samples), *edges])
    curves: tuple[Curves, Curves, Curves] = ({None: np.zeros_like(time_s)}, {}, {})
    for who, samples, end_s in lives:
        alive = (time_s >= samples[0].time_s) & (time_s <= end_s)
        for curve, name in zip(curves, ("private_bytes", "pss_bytes", "rss_bytes"), strict=True):
            values = [getattr(sample, name) for sample in samples]
            between = np.interp(time_s, [sample.time_s for sample in samples], values)
            curve[who] = curve.get(who, np.zeros_like(time_s)) + between * alive
    return time_s, *curves


def _processes(records: RunRecords) -> list[tuple[int | None, int]]:
    return list(dict.fromkeys((sample.child, sample.pid) for sample in records.samples))


def _life(records: RunRecords, who: int | None, pid: int) -> tuple[int | None, list[Sample], float]:
    """A process's samples and its end [s since the epoch]."""
    samples = [sample for sample in records.samples if sample.pid == pid and sample.child == who]
    exits = [
        line.time_s
        for line in records.timeline
        if line.event == "child_exit" and line.child == who and line.details.get("pid") == pid
    ]
    if who is None:
        exits = [line.time_s for line in records.timeline[-1:]]
    return who, samples, max([samples[-1].time_s, *exits])


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
    """Warm shades that alternate slightly, so that neighbours differ."""
    ramp = colormaps["YlOrBr"]
    positions = 0.3 + 0.4 * np.arange(n) / max(n - 1, 1)
    return [_hex(ramp(x)) for x in positions]


def _hex(rgba: tuple[float, float, float, float]) -> str:
    return "#" + "".join(f"{round(255 * c):02x}" for c in rgba[:3])
