"""Comparison of all distributions for the same events, and its report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict, replace

from forkrun.base.quantities import plural
from forkrun.config import Distribution, ForkingConfig, JobConfig
from forkrun.index import FileIndex, LumiRanges
from forkrun.monitoring.report.children import spread, utilization
from forkrun.monitoring.tables import Table
from forkrun.plan import LumiMask, Plan, Selected, plan_selected, select_events
from forkrun.studies.frame.study import Curve, Plot
from forkrun.studies.simulation.costs import Costs
from forkrun.studies.simulation.hand_out import Overheads, hand_out, reads_of, unit_times
from forkrun.studies.simulation.layout import Layout, layout_of

MAX_TURNS = 20_000_000
"""Number of turns above which a distribution is not simulated: its plan would not fit in memory."""


class Settings(Struct, frozen=True):
    """`children`: numbers to try; `overhead_s`: cost of committing a stretch in addition to its
    events, `call_s`: cost of a call of the modules."""

    children: tuple[int, ...]
    overhead_s: float
    call_s: float = 0.0


class Simulated(Struct, frozen=True):
    """One distribution with one number of children. `ideal_s`: all events' costs, shared evenly,
    without overhead. `utilization` and `relative_std`, the dispersion: from the children's busy
    times, overhead included, as in a report. `mean_stretch_events`: events taken by a child at a
    time; `mean_read_entries`, `mean_read_clusters`: size of a read, in entries and in clusters of
    the input; `cluster_reads`: number of reads per cluster."""

    distribution: str
    children: int
    n_units: int
    n_stretches: int
    wall_s: float
    ideal_s: float
    utilization: float | None
    relative_std: float | None
    mean_stretch_events: float
    mean_read_entries: float
    mean_read_clusters: float
    cluster_reads: float

    @property
    def efficiency(self) -> float:
        """Ideal divided by wall time. Counts overhead as a loss, unlike utilization."""
        return self.ideal_s / self.wall_s if self.wall_s else 1.0


def compare(
    config: JobConfig,
    index: Sequence[FileIndex],
    costs: Costs,
    settings: Settings,
    mask: LumiMask | None = None,
) -> list[Simulated]:
    """Simulates all distributions with all numbers of children."""
    layout, clusters = layout_of(index), [file.clusters for file in index]
    overheads = Overheads(
        settings.overhead_s, settings.call_s, config.threads.block_size, costs.cpu_share
    )
    selected = select_events(config, LumiRanges.of(index), mask)
    return [
        _simulate(name, plan, clusters, layout, costs, overheads)
        for name, changes in _ways(config.forking, selected.n_events)
        for plan in _plans(_with(config, changes), selected, index, settings.children)
    ]


def _plans(
    config: JobConfig, selected: Selected, index: Sequence[FileIndex], children: Sequence[int]
) -> Iterator[Plan]:
    """Yields a plan for each number of children; units for any idle child are the same for all."""
    plan: Plan | None = None
    for n in children:
        if plan is None or not plan.is_shared:
            plan = plan_selected(_with(config, {"children": n}), selected, index)
        yield replace(plan, children=n)


def _with(config: JobConfig, changes: dict[str, Any]) -> JobConfig:
    return config.replaced({"forking": config.forking.replaced(changes)})


def _ways(forking: ForkingConfig, n_events: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields names of distributions and their changes in [forking]."""
    for way in (Distribution.GUIDED, Distribution.LUMI, Distribution.CONTIGUOUS):
        yield way.value, {"distribution": way}
    for turn in sorted({1, forking.events_per_turn}, reverse=True):
        if n_events <= turn * MAX_TURNS:
            way = Distribution.ROUND_ROBIN
            yield f"{way.value} {turn}", {"distribution": way, "events_per_turn": turn}


def _simulate(
    name: str,
    plan: Plan,
    clusters: Sequence[Sequence[int]],
    layout: Layout,
    costs: Costs,
    overheads: Overheads,
) -> Simulated:
    unit_s = unit_times(plan, layout, costs)
    handed_out = hand_out(plan, unit_s, overheads, plan.units.at_cluster(clusters))
    reads = reads_of(plan, layout, handed_out)
    busy_s = handed_out.busy_s.tolist()
    dispersion = spread(busy_s)
    return Simulated(
        distribution=name,
        children=plan.children,
        n_units=len(plan.units),
        n_stretches=len(handed_out.first_unit),
        wall_s=max(busy_s),
        ideal_s=float(unit_s.sum()) / len(busy_s),
        utilization=utilization(busy_s),
        relative_std=dispersion.relative_std if dispersion else None,
        mean_stretch_events=plan.n_events / len(handed_out.first_unit),
        mean_read_entries=reads.mean_entries,
        mean_read_clusters=reads.mean_clusters(layout),
        cluster_reads=reads.per_cluster(layout),
    )


_HEADS = (
    "", "util.:fraction", "disp.:fraction", "wall [s]:text", "effic.:fraction", "stretches:count",
    "events:text", "clusters:text",
)  # fmt: skip
_WORDS = """\
util., utilization: mean over longest busy time, overhead included; disp., dispersion:
their standard deviation over their mean; effic., efficiency: ideal over actual wall
time; stretches: what children take at a time, events: their mean number of events;
clusters: length of what a stretch reads in a row"""


class Simulation(Struct, frozen=True):
    """Rows by distribution, then by number of children."""

    input: str
    costs: str
    overhead_s: float
    call_s: float
    rows: tuple[Simulated, ...]

    def to_json(self) -> dict[str, Any]:
        """JSON-ready content; times in s."""
        return {
            "input": self.input,
            "costs": self.costs,
            "overhead_s": self.overhead_s,
            "call_s": self.call_s,
            "rows": [{**asdict(row), "efficiency": row.efficiency} for row in self.rows],
        }

    def plot(self) -> Plot:
        """Plot of the utilization against the number of children, with a line for each
        distribution."""
        points: dict[str, list[tuple[float, ...]]] = {}
        for row in self.rows:
            points.setdefault(row.distribution, []).append((row.children, row.utilization or 0.0))
        return Plot(
            "Utilization by distribution, simulated", f"{self.input}; {self.costs}",
            "children", "utilization", [Curve(*curve) for curve in points.items()],
            x_log=2, ideal=1.0,
        )  # fmt: skip


def describe_input(layout: Layout) -> str:
    """Entries, lumis and files, in words."""
    n_lumis = len(np.unique(layout.lumi_key))
    entries = plural(layout.n_entries, "event")
    return f"{entries} in {plural(n_lumis, 'lumi')} of {plural(len(layout.file) - 1, 'file')}"


def print_simulation(simulation: Simulation) -> None:
    """Prints a table and a legend."""
    print(simulation.input)
    overhead = f"{1e3 * simulation.overhead_s:.3g} ms per stretch"
    if simulation.call_s:
        overhead += f", {1e3 * simulation.call_s:.3g} ms per call"
    print(f"costs: {simulation.costs}; {overhead}", end="\n\n")
    print(Table.of("", _HEADS, _rows(simulation)).text())
    print(f"\n{_WORDS}")


def _rows(simulation: Simulation) -> Iterator[tuple[Any, ...]]:
    rows = sorted(simulation.rows, key=lambda row: row.children)  # sorted is stable
    for children, group in groupby(rows, key=lambda row: row.children):
        for n, row in enumerate(group):
            if n == 0:
                yield (
                    f"{plural(children, 'child')}, ideal",
                    1.0,
                    0.0,
                    _time(row.ideal_s),
                    1.0,
                    *[""] * 3,
                )
            yield (
                f"  {row.distribution}", row.utilization, row.relative_std, _time(row.wall_s),
                row.efficiency, row.n_stretches, _number(row.mean_stretch_events),
                _number(row.mean_read_clusters),
            )  # fmt: skip


def _number(value: float) -> str:
    return f"{value:.2g}" if value < 1 else f"{value:,.{1 if value < 100 else 0}f}"


def _time(time_s: float) -> str:
    return f"{time_s:#.3g}" if time_s < 100 else f"{time_s:,.0f}"
