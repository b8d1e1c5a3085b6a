"""`forkrun measure scaling`: events per second against children and threads, and their limit."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from forkrun.base.cpus import usable_cpus
from forkrun.base.quantities import duration, percent, plural
from forkrun.config.anchor import is_url
from forkrun.config.model import JobConfig
from forkrun.index.files import input_files
from forkrun.monitoring.tables import Column
from forkrun.studies.frame.jobs import EndedJob, run_way
from forkrun.studies.frame.machine import cached_share
from forkrun.studies.frame.repeats import Row, doubling, measure_ways
from forkrun.studies.frame.study import Curve, Plot, Study


class Point(Struct, frozen=True):
    """One way of running the job. `work_ms`: CPU time per event in addition to the job's
    modules."""

    children: int
    threads: int
    work_ms: float = 0.0

    @property
    def n_cores(self) -> int:
        """Threads of all children."""
        return self.children * self.threads

    @property
    def setting(self) -> str:
        """Name of the settings other than children and threads; "" for the unchanged job."""
        return f"{self.work_ms:g} ms more" if self.work_ms else ""

    @property
    def name(self) -> str:
        """Name of the way: `2 × 1, 5 ms more`."""
        return ", ".join([f"{self.children} × {self.threads}", *filter(None, [self.setting])])

    @property
    def alone(self) -> Point:
        """The point with one child of one thread."""
        return Point(1, 1, self.work_ms)


def points(
    children: Sequence[int] | None,
    threads: Sequence[int] | None,
    work_ms: Sequence[float],
    n_cpus: int,
) -> list[Point]:
    """All points, with one child of one thread first. If the user gives numbers of children or of
    threads only, the others are one; without either: children of one thread, then threads of one
    child, up to the number of CPUs."""
    if children is None and threads is None:
        up_to = doubling(1, n_cpus)
        pairs = [(n, 1) for n in up_to] + [(1, n) for n in up_to]
    else:
        pairs = [(c, t) for t in threads or [1] for c in children or [1]]
    shapes = list(dict.fromkeys([(1, 1), *pairs]))
    return [Point(c, t, work) for work in work_ms for c, t in shapes]


LABEL = "measured_work"
"""Label of the added module, and name of its path."""
_FIRST_EVENTS = 1000
"""Number of events for measuring the time per event."""
_BLOCK_S = 0.05
"""Work in a block: short enough for threads to take turns, and long enough to keep calls rare."""
_PER_CORE = 4
"""Minimum number of events."""


class Runs:
    """Runs of one job, each of some seconds. `folder`: for their run directories."""

    def __init__(self, config: JobConfig, folder: Path, seconds: float) -> None:
        self._config, self._folder, self._seconds = config, folder, seconds
        self._files = [Path(file) for file in input_files(config.source) if not is_url(file)]
        ran = self._run(Point(1, 1), _FIRST_EVENTS)
        self._event_s = _processing_s(ran) / ran.n_events  # of the unchanged job in one thread

    def __call__(self, point: Point) -> Mapping[str, float]:
        """Runs a point; returns its rates and shares. Raises the job's errors."""
        event_s = self._event_s + 1e-3 * point.work_ms
        n_wanted = point.n_cores * max(_PER_CORE, math.ceil(self._seconds / event_s))
        ran = self._run(point, n_wanted)
        thread_s = _processing_s(ran) * point.threads
        processing_s = [child.processing_s for child in ran.children]
        cpu_s = math.fsum(child.cpu_s for child in ran.children)
        return {
            "rate": ran.n_events / thread_s * point.n_cores,
            "per_core": ran.n_events / thread_s,
            "whole_rate": ran.n_events / ran.loop_s,
            "events": ran.n_events,
            "cpu_s": cpu_s / ran.n_events,
            "busy": cpu_s / thread_s,
            "utilization": math.fsum(processing_s) / max(processing_s) / point.children,
            "read_rate": ran.read_bytes / ran.loop_s,
            "cached": cached_share(self._files) if self._files else 1.0,
            "loop_s": ran.loop_s,
        }

    def _run(self, point: Point, n_events: int) -> EndedJob:
        most = self._config.source.max_events
        settings = {
            "forking.children": point.children,
            "threads.per_child": point.threads,
            "source.max_events": n_events if most is None else min(n_events, most),
            **self._of_blocks(point),
        }
        texts = [f"{key}={json.dumps(value)}" for key, value in settings.items()]
        return run_way(with_work(self._config, point.work_ms), self._folder, texts)

    def _of_blocks(self, point: Point) -> dict[str, Any]:
        if not point.work_ms or self._config.threads.block_size:
            return {}
        return {"threads.block_size": max(1, round(1e3 * _BLOCK_S / point.work_ms))}


def with_work(config: JobConfig, work_ms: float) -> JobConfig:
    """The job with an additional path that takes the given CPU time per event."""
    if not work_ms:
        return config
    changed = config.as_json()
    changed["job"]["plugins"] = [*dict.fromkeys([*changed["job"]["plugins"], "forkrun_modules"])]
    changed["modules"] += [{"label": LABEL, "type": "cpp:BusyWait", "params": {"ms": work_ms}}]
    changed["paths"][LABEL] = [LABEL]
    return JobConfig.checked(changed)


def _processing_s(ran: EndedJob) -> float:
    """Time of all children, summed over ranges of events from begin to commit."""
    return math.fsum(child.processing_s for child in ran.children)


GOOD_SHARE = 0.9
"""Efficiency above which cores count as well used."""


class Use(Struct, frozen=True):
    """Use of cores in one way of running. `cpu_s`: per event; `busy`: CPU time divided by the time
    of all threads; `utilization`: mean divided by longest time of the children; `cached`: share of
    the input in memory."""

    n_cores: int
    cpu_s: float
    busy: float
    utilization: float
    cached: float = 1.0


def efficiency(use: Use, alone: Use) -> float:
    """Events per second and core relative to one core, including the wait for the last child."""
    computing, running, ending = _factors(use, alone)
    return computing * running * ending


def reason(use: Use, alone: Use, n_cpus: int) -> str:
    """The largest loss, in words."""
    computing, running, ending = _factors(use, alone)
    worst = min(computing, running, ending)
    if worst == computing:
        return (
            f"an event takes {1 / computing:.2f} times the CPU time: cores share memory bandwidth,"
            " caches, clock or, with hyper-threads, units"
        )
    if worst == ending:
        return (
            f"waiting for the last child: the others are done after {percent(use.utilization)} of"
            " its time (smaller units, or more events)"
        )
    if use.n_cores > n_cpus:
        return f"CPUs: there are {n_cpus} for {plural(use.n_cores, 'thread')}"
    if use.cached < 0.98:
        return (
            f"disk: threads compute {percent(use.busy)} of the time, and"
            f" {percent(1 - use.cached)} of the input is not in memory"
        )
    return (
        f"threads wait for each other, computing {percent(use.busy)} of the time: modules that run"
        " one block at a time (Python, `one`, `unsafe`), or outputs in order"
    )


def _factors(use: Use, alone: Use) -> tuple[float, float, float]:
    """Factors for computing, having work and ending together: 1 without loss."""
    return (
        alone.cpu_s / use.cpu_s if use.cpu_s else 1.0,
        use.busy / alone.busy if alone.busy else 1.0,
        use.utilization / alone.utilization if alone.utilization else 1.0,
    )


COLUMNS = (
    Column("rate", "events/s", "rate"),
    Column("per_core", "events/s/core", "rate"),
    Column("relative", "relative to one", "ratio"),
    Column("whole_rate", "with the ends", "rate"),
    Column("cpu_s", "CPU per event", "time"),
    Column("busy", "computing", "share"),
    Column("utilization", "utilization", "share"),
    Column("read_rate", "bytes/s read", "size"),
    Column("events", "events", "count"),
)
SHORT_S = 0.5
"""Length below which an event loop is too short for conclusions."""
Runner = Callable[[Point], Mapping[str, float]]


def measure_scaling(
    name: str, points: Sequence[Point], run: Runner, n_repeats: int, *, quiet: bool = False
) -> Study:
    """Measures all points. `run` returns the values of a point. Each point needs its point of one
    core."""
    ways = {point.name: partial(run, point) for point in points}
    rows, load = measure_ways(ways, n_repeats, quiet=quiet)
    per_core = {point: rows[point.name].values["per_core"] for point in points}
    by_point = {  # each repeat relative to that of one core
        point: rows[point.name].plus(relative=per_core[point].over(per_core[point.alone]))
        for point in points
    }
    return Study(
        "scaling", name, COLUMNS, {point.name: row for point, row in by_point.items()}, load,
        _conclusions(by_point, usable_cpus()), _remarks(by_point.values()), (),
        _plot(name, by_point),
    )  # fmt: skip


def _conclusions(by_point: Mapping[Point, Row], n_cpus: int) -> list[str]:
    """Limit of scaling and its reason, for each setting and kind of cores."""
    return [
        _limit_in_words(what, [curve[0].alone, *curve], by_point, n_cpus)
        for what, curve in _curves([*by_point]).items()
    ]


def _limit_in_words(
    what: str, curve: Sequence[Point], by_point: Mapping[Point, Row], n_cpus: int
) -> str:
    alone = _use(curve[0], by_point[curve[0]])
    for point in curve:
        use = _use(point, by_point[point])
        share = efficiency(use, alone)
        if share < GOOD_SHARE:
            return (
                f"{what}: at {point.children} × {point.threads} each core does {percent(share)} of"
                f" what one does alone. {reason(use, alone, n_cpus)}"
            )
    share = efficiency(_use(curve[-1], by_point[curve[-1]]), alone)
    last = f"{curve[-1].children} × {curve[-1].threads}"
    return f"{what}: scales up to {last}, where each core does {percent(share)} of one alone"


def _use(point: Point, row: Row) -> Use:
    return Use(point.n_cores, row["cpu_s"], row["busy"], row["utilization"], row["cached"])


def _curves(points: Sequence[Point]) -> dict[str, list[Point]]:
    """Points of more than one core, grouped by curves along which only the number of children, or
    of threads, varies."""
    curves: dict[str, list[Point]] = {}
    for point in points:
        if point.n_cores > 1:
            what = ", ".join(filter(None, [_kind(point), point.setting]))
            curves.setdefault(what, []).append(point)
    return curves


def _kind(point: Point) -> str:
    if point.children == 1:
        return "threads of one child"
    return "children" if point.threads == 1 else f"children of {plural(point.threads, 'thread')}"


def _remarks(rows: Collection[Row]) -> list[str]:
    remarks = [
        "N × M: children × threads of each. events/s: events over the times of all children, from"
        " the begin of each stretch of events to its commit: start, end and the wait for the last"
        " child are left out; with the ends: over the time from the first event to the last commit."
        " Computing: CPU time over the time of all threads"
    ]
    shortest = min(row["loop_s"] for row in rows)
    if shortest < SHORT_S:
        remarks.append(
            f"the shortest event loop took {duration(shortest)}: the input has too few events for"
            " this machine; give more files, or --work"
        )
    return remarks


def _plot(name: str, by_point: Mapping[Point, Row]) -> Plot:
    """Plot in the published form: per core, against cores."""
    curves = []
    for what, of_curve in _curves([*by_point]).items():
        points = [of_curve[0].alone, *of_curve]
        relative = [(float(p.n_cores), by_point[p].values["relative"]) for p in points]
        curves.append(Curve(what, [(x, y.value, y.noise) for x, y in relative]))
    return Plot(
        "Events per second and core", f"{name}; relative to one child of one thread",
        "cores (children × threads)", "rate per core", curves, x_log=2, ideal=1.0,
    )  # fmt: skip
