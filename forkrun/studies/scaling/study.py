"""`forkrun measure scaling`: events per second against children and threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from forkrun.base.cpus import usable_cpus
from forkrun.base.quantities import duration, percent
from forkrun.monitoring.tables import Column
from forkrun.studies.frame.repeats import Row, measure_ways
from forkrun.studies.frame.study import Curve, Plot, Study
from forkrun.studies.scaling.limits import GOOD_SHARE, Use, efficiency, reason
from forkrun.studies.scaling.points import Point

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
    rows = _relative(dict(zip(points, rows, strict=True)))
    by_point = dict(zip(points, rows, strict=True))
    return Study(
        "scaling", name, COLUMNS, rows, load, _conclusions(by_point, usable_cpus()),
        _remarks(rows), (), _plot(name, by_point),
    )  # fmt: skip


def _relative(by_point: Mapping[Point, Row]) -> list[Row]:
    """Adds events per second and core, each repeat relative to that of one core."""
    rows = []
    for point, row in by_point.items():
        relative = row.values["per_core"].over(by_point[point.alone].values["per_core"])
        rows.append(Row(row.name, {**row.values, "relative": relative}))
    return rows


def _conclusions(by_point: Mapping[Point, Row], n_cpus: int) -> list[str]:
    """Limit of scaling and its reason, for each setting and kind of cores."""
    return [
        _where_it_stops(what, [curve[0].alone, *curve], by_point, n_cpus)
        for what, curve in _curves([*by_point]).items()
    ]


def _where_it_stops(
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
    return "children" if point.threads == 1 else f"children of {point.threads} threads"


def _remarks(rows: Sequence[Row]) -> list[str]:
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
