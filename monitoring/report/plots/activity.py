"""The children's units of work as bars against time; white is idle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from forkrun.base.quantities import percent, seconds
from forkrun.monitoring.records import RunRecords
from forkrun.monitoring.report.children import Balance, ChildSummary
from forkrun.monitoring.report.plots.style import (
    GRID,
    INK,
    MUTED,
    RUN_SHADES,
    mark_phases,
    new_figure,
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
    _draw(axes, records, [child.child for child in children])
    _finish(axes, records, children)
    mark_phases(axes, records)
    return figure


def _subtitle(balance: Balance) -> str:
    ends = balance.end_times
    spread = f"; the last child ended {seconds(ends.range_s)} s after the first" if ends else ""
    return f"utilization {percent(balance.utilization)}{spread}"


def _draw(axes: Axes, records: RunRecords, children: Sequence[int]) -> None:
    start_s, many = records.start_s, len(records.ledger) > MAX_VECTOR_BARS
    run_shades = _run_shades(records.ledger)
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


def _run_shades(units: Sequence[Commit]) -> dict[int, Sequence[str]]:
    return {run: RUN_SHADES[i % len(RUN_SHADES)] for i, run in enumerate(_runs(units))}


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
    _legend(axes, records)


def _legend(axes: Axes, records: RunRecords) -> None:
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
