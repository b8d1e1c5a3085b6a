"""The same events, shared in every way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from forkrun.config import Distribution, ForkingConfig, JobConfig
from forkrun.index import FileIndex, LumiRanges
from forkrun.monitoring.children import spread, utilization
from forkrun.plan import LumiMask, Plan, Selected, plan_selected, select_events
from forkrun.studies.simulation.costs import Costs
from forkrun.studies.simulation.hand_out import busy_times, unit_times
from forkrun.studies.simulation.layout import Layout, layout_of
from forkrun.studies.simulation.reading import cluster_reads, mean_read_entries

MAX_TURNS = 20_000_000
"""Turns of more than this are not simulated: a plan of them would not fit in memory."""


@dataclass(frozen=True)
class Settings:
    """`children`: the numbers to try; `overhead_s`: what a unit costs in addition to its events."""

    children: tuple[int, ...]
    overhead_s: float


@dataclass(frozen=True)
class Simulated:
    """One distribution with one number of children. `ideal_s`: all events' costs, shared evenly,
    with no overhead. `utilization` and `relative_std`, the dispersion: of the times in which
    children are busy, overhead included, as in a report."""

    distribution: str
    children: int
    n_units: int
    wall_s: float
    ideal_s: float
    utilization: float | None
    relative_std: float | None
    mean_read_entries: float
    cluster_reads: float

    @property
    def efficiency(self) -> float:
        """Ideal over wall time. Overhead is a loss here; to utilization it is not."""
        return self.ideal_s / self.wall_s if self.wall_s else 1.0


def compare(
    config: JobConfig,
    index: Sequence[FileIndex],
    costs: Costs,
    settings: Settings,
    mask: LumiMask | None = None,
) -> list[Simulated]:
    """All distributions, each with all numbers of children."""
    layout, selected = layout_of(index), select_events(config, LumiRanges.of(index), mask)
    return [
        _simulate(name, plan, layout, costs, settings.overhead_s)
        for name, changes in _ways(config.forking, selected.n_events)
        for plan in _plans(_with(config, changes), selected, index, settings.children)
    ]


def _plans(
    config: JobConfig, selected: Selected, index: Sequence[FileIndex], children: Sequence[int]
) -> Iterator[Plan]:
    """A plan for each number of children; units that any idle child takes are the same for all."""
    plan: Plan | None = None
    for n in children:
        if plan is None or not plan.is_shared:
            plan = plan_selected(_with(config, {"children": n}), selected, index)
        yield replace(plan, children=n)


def _with(config: JobConfig, changes: dict[str, Any]) -> JobConfig:
    return config.model_copy(update={"forking": config.forking.model_copy(update=changes)})


def _ways(forking: ForkingConfig, n_events: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Names, and what each changes in [forking]."""
    for way in (Distribution.GUIDED, Distribution.LUMI, Distribution.CONTIGUOUS):
        yield way.value, {"distribution": way}
    for turn in sorted({1, forking.events_per_turn}, reverse=True):
        if n_events <= turn * MAX_TURNS:
            way = Distribution.ROUND_ROBIN
            yield f"{way.value} {turn}", {"distribution": way, "events_per_turn": turn}


def _simulate(name: str, plan: Plan, layout: Layout, costs: Costs, overhead_s: float) -> Simulated:
    unit_s = unit_times(plan, layout, costs, overhead_s)
    busy_s = busy_times(plan, unit_s).tolist()
    dispersion = spread(busy_s)
    return Simulated(
        distribution=name,
        children=plan.children,
        n_units=len(plan.units),
        wall_s=max(busy_s),
        ideal_s=(float(unit_s.sum()) - len(unit_s) * overhead_s) / len(busy_s),
        utilization=utilization(busy_s),
        relative_std=dispersion.relative_std if dispersion else None,
        mean_read_entries=mean_read_entries(plan),
        cluster_reads=cluster_reads(plan, layout),
    )
