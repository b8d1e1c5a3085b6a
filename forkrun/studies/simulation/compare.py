"""Assignment of units to children like in a job, the resulting times, their comparison for all
distributions, and its report."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict, replace

from forkrun.base.lumis import Integers
from forkrun.base.quantities import plural
from forkrun.child.hand_out import HandOut
from forkrun.child.pace import Pace
from forkrun.config.choices import Distribution
from forkrun.config.model import ForkingConfig, JobConfig
from forkrun.index.model import FileIndex, Flags, LumiRanges
from forkrun.monitoring.report.children import spread, utilization
from forkrun.monitoring.tables import Table
from forkrun.plan.make import plan_selected, select_events
from forkrun.plan.model import Plan
from forkrun.plan.select import LumiMask, Selected
from forkrun.studies.frame.study import Curve, Plot
from forkrun.studies.simulation.layout import Costs, Floats, Layout, global_ranges, layout_of

_FEW = 0.1
"""Share of units after one of the same child, below which each unit is taken by itself."""


class Overheads(Struct, frozen=True):
    """Costs in addition to the events: `stretch_s` for committing a stretch, `call_s` for each call
    of the modules. `block_size`: as in the configuration. `cpu_share`: CPU time divided by wall
    time, since the pace learns the cost of calls from CPU time."""

    stretch_s: float = 0.0
    call_s: float = 0.0
    block_size: int = 0
    cpu_share: float = 1.0

    def pace(self, n_children: int) -> Pace:
        """Pace of a child. Blocks only grow if calls have a cost."""
        grows = self.call_s and not self.block_size
        return Pace(n_children, None if grows else self.block_size)


class HandedOut(Struct, frozen=True):
    """`busy_s` : (children,) time of each child on its stretches [s]; children begin together and
    never wait, so the longest is the wall time. `first_unit`, `child` : (n_stretches,) of each
    stretch, in plan order."""

    busy_s: Floats
    first_unit: Integers
    child: Integers


def unit_times(plan: Plan, layout: Layout, costs: Costs) -> Floats:
    """(n_units,) total cost of each unit's events [s]."""
    first, last = global_ranges(plan, layout)
    before_s = np.concatenate(([0.0], np.cumsum(costs.of(first, last))))
    times: Floats = np.diff(before_s[plan.units.first_range])
    return times


def hand_out(
    plan: Plan, unit_s: Floats, overheads: Overheads, at_cluster: Flags | None = None
) -> HandedOut:
    """Hands out all units: the next stretch goes to the first free child. If units of one child are
    rarely consecutive, each is a stretch."""
    if plan.is_shared or _are_together(plan):
        return _hand_out_stretches(plan, unit_s, overheads, at_cluster)
    weights = unit_s + overheads.stretch_s + overheads.call_s
    busy_s = np.bincount(plan.units.child, weights, minlength=max(plan.children, 1))
    first_unit = np.arange(len(plan.units), dtype=np.int64)
    return HandedOut(busy_s.astype(np.float64), first_unit, plan.units.child)


def _are_together(plan: Plan) -> bool:
    child = plan.units.child
    n_following = int(np.count_nonzero(child[1:] == child[:-1]))
    return n_following >= _FEW * (len(child) - 1)


def _hand_out_stretches(
    plan: Plan, unit_s: Floats, overheads: Overheads, at_cluster: Flags | None
) -> HandedOut:
    everything = np.ones(len(plan.units), dtype=np.bool_)
    queues = HandOut(plan, everything, everything, at_cluster)
    children = plan.busy_children()
    paces = {child: overheads.pace(len(children) if plan.is_shared else 1) for child in children}
    before_s = np.concatenate(([0.0], np.cumsum(unit_s)))
    before = np.concatenate(([0], np.cumsum(plan.units.n_events)))
    busy_s = np.zeros(max(plan.children, 1))
    stretches: list[tuple[int, int]] = []  # first unit and child

    def take(child: int) -> float | None:
        """Time of this child's next stretch; None without one."""
        pace = paces[child]
        block = pace.block
        taken = queues.take_stretch(child, pace.n_wanted)
        if taken is None:
            return None
        first, end = taken[0], taken[0] + taken[1]
        n_events = int(before[end] - before[first])
        n_calls = max(-(-n_events // block), 1) if block else 1
        wall_s = float(before_s[end] - before_s[first]) + n_calls * overheads.call_s
        pace.note(n_events, wall_s, overheads.cpu_share * wall_s, 0)
        stretches.append((first, child))
        return wall_s + overheads.stretch_s

    _in_order_of_time(children, take, busy_s)
    first_unit, child_of = np.array(sorted(stretches), dtype=np.int64).reshape(-1, 2).T
    return HandedOut(busy_s, first_unit, child_of)


def _in_order_of_time(
    children: Sequence[int], take: Callable[[int], float | None], busy_s: Floats
) -> None:
    """Lets the first free child take a stretch, until none are left."""
    free = [(0.0, child) for child in children]  # a heap
    while free:
        now_s, child = free[0]
        taken_s = take(child)
        if taken_s is None:
            heapq.heappop(free)
            busy_s[child] = now_s
        else:
            heapq.heapreplace(free, (now_s + taken_s, child))


class Reads(Struct, frozen=True):
    """Consecutive entries read at a time, in entries of all files in a row: [first, last) :
    (n_reads,), with the `child` that reads them."""

    child: Integers
    first: Integers
    last: Integers

    @property
    def mean_entries(self) -> float:
        """Mean number of entries per read."""
        return int((self.last - self.first).sum()) / max(len(self.first), 1)

    def mean_clusters(self, layout: Layout) -> float:
        """Mean length of a read divided by the mean length of a cluster."""
        return self.mean_entries * len(layout.cluster) / max(layout.n_entries, 1)

    def per_cluster(self, layout: Layout) -> float:
        """Mean number of children that read and unzip a cluster, over all clusters read."""
        if not len(self.first):
            return 0.0
        in_order = np.lexsort((self.first, self.child))
        child, first, last = self.child[in_order], self.first[in_order], self.last[in_order]
        begin, end = (
            np.searchsorted(layout.cluster, entry, side="right") - 1 for entry in (first, last - 1)
        )
        again = (child[1:] == child[:-1]) & (begin[1:] == end[:-1])
        n_reads = int((end - begin + 1).sum()) - int(again.sum())
        changes = np.zeros(len(layout.cluster) + 1, dtype=np.int64)
        np.add.at(changes, begin, 1)
        np.add.at(changes, end + 1, -1)
        return n_reads / int((np.cumsum(changes) > 0).sum())


def reads_of(plan: Plan, layout: Layout, handed_out: HandedOut) -> Reads:
    """Reads of stretches. Ranges of a stretch that are adjacent in a file are one read."""
    units = plan.units
    first, last = global_ranges(plan, layout)
    n_ranges = np.diff(units.first_range[np.append(handed_out.first_unit, len(units))])
    stretch = np.repeat(np.arange(len(n_ranges)), n_ranges)
    is_new = np.ones(len(first), dtype=np.bool_)
    follows = (units.file[1:] == units.file[:-1]) & (first[1:] == last[:-1])
    is_new[1:] = ~follows | (stretch[1:] != stretch[:-1])
    begins = np.flatnonzero(is_new)
    ends = np.append(begins[1:], len(first)) - 1 if len(begins) else begins
    return Reads(handed_out.child[stretch[begins]], first[begins], last[ends])


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
