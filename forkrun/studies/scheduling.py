"""`forkrun measure scheduling`: ratios between ways of running the same modules."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from forkrun.base.quantities import percent
from forkrun.monitoring.tables import Column
from forkrun.studies.estimate.graph import graph_of_replay
from forkrun.studies.estimate.simulate import simulate
from forkrun.studies.frame.repeats import Row, Way, measure_ways
from forkrun.studies.frame.study import Curve, Figure, Plot, Study, published
from forkrun.studies.replay.model import (
    Concurrency,
    Kind,
    Product,
    ReplayJob,
    ReplayModule,
    ReplayOptions,
    ReplayPath,
    ReplaySettings,
    ReplaySource,
    Work,
)
from forkrun.studies.replay.run import run_replay


class Sizes(Struct, frozen=True):
    """Events of each part, and the factors on their times, which set the duration."""

    n_empty: int = 300_000
    n_without_work: int = 20_000
    n_busy: int = 100
    busy_scale: float = 0.0005
    n_alone: int = 2
    alone_scale: float = 0.05
    n_in_flight: int = 100
    in_flight_scale: float = 0.02


THREADS = {"15 threads": 15, "20 threads": 20, "80 threads": 80}
"""Numbers of threads for ten sleeping events in flight; 80 suffice."""


def ways(job: ReplayJob, sizes: Sizes) -> dict[str, Way]:
    """All ways, by name. `job`: provides graph and times of modules."""
    each = {
        **_pairs("empty", empty_job(), mode="none", n_events=sizes.n_empty),
        **_pairs("no work", job, mode="none", n_events=sizes.n_without_work),
        **_busy(job, sizes),
        **_alone(job, sizes),
    }
    common = ReplaySettings(
        mode="sleep", n_events=sizes.n_in_flight, time_scale=sizes.in_flight_scale,
        events_in_flight=10,
    )  # fmt: skip
    for name, n_threads in THREADS.items():
        each[f"ten sleeping: {name}"] = partial(_run, job, replace(common, n_threads=n_threads))
    return each


def _pairs(what: str, job: ReplayJob, **common: object) -> dict[str, Way]:
    """Ways `serial`, and tasks of threads × events in flight."""
    settings = ReplaySettings(**common)  # type: ignore[arg-type]
    each: dict[str, Way] = {
        f"{what}: serial": partial(_run, job, replace(settings, executor="serial"))
    }
    for n_threads, in_flight in ((1, 1), (2, 1), (2, 2)):
        pair = replace(settings, n_threads=n_threads, events_in_flight=in_flight, always_tasks=True)
        each[f"{what}: {n_threads} × {in_flight}"] = partial(_run, job, pair)
    return each


def _busy(job: ReplayJob, sizes: Sizes) -> dict[str, Way]:
    serial = ReplaySettings(
        mode="busywait", executor="serial", n_events=sizes.n_busy, time_scale=sizes.busy_scale
    )
    two = replace(serial, executor="tbb", n_threads=2, events_in_flight=2)
    return {
        "busy: serial": partial(_run, job, serial),
        "busy: 2 × 2": partial(_run, job, two),
        "busy: 2 × 2, coroutines": partial(_run, job, replace(two, get="coroutine")),
        "busy: 2 × 2, all unsafe": partial(_run, of_concurrency(job, Concurrency.UNSAFE), two),
    }


def _alone(job: ReplayJob, sizes: Sizes) -> dict[str, Way]:
    """Ways with one sleeping event in flight: only parallel modules help."""
    serial = ReplaySettings(
        mode="sleep", executor="serial", n_events=sizes.n_alone, time_scale=sizes.alone_scale
    )
    graph = graph_of_replay(job)
    path_s = sizes.alone_scale * simulate(graph, sizes.n_alone, 1000, 1).makespan_s
    work_s = sizes.alone_scale * simulate(graph, sizes.n_alone, 1, 1).makespan_s

    def on_threads(n_threads: int) -> Mapping[str, float]:
        settings = replace(serial, executor="tbb", n_threads=n_threads, events_in_flight=1)
        values = _run(job, settings)
        return {
            **values,
            "speedup": work_s / values["time_s"],
            "of_path": path_s / values["time_s"],
        }

    return {
        "one sleeping: serial": partial(_run, job, serial),
        "one sleeping: 8 threads": partial(on_threads, 8),
        "one sleeping: 40 threads": partial(on_threads, 40),
    }


def _run(job: ReplayJob, settings: ReplaySettings) -> Mapping[str, float]:
    result = run_replay(job, settings)
    return {
        "rate": result.events_per_s,
        "cpu": result.cpu_s / result.wall_s,
        "time_s": result.wall_s,
    }


def of_concurrency(job: ReplayJob, concurrency: Concurrency) -> ReplayJob:
    """The job with all modules `reentrant`, `one` or `unsafe`."""
    modules = tuple(replace(module, concurrency=concurrency) for module in job.modules)
    return replace(job, modules=modules)


def empty_job() -> ReplayJob:
    """A filter that consumes the products of three producers, all without work."""
    names = ("a", "b", "c")
    modules = tuple(_empty(name, Kind.PRODUCER, ()) for name in names)
    consumed = tuple(Product(name, "") for name in names)
    return ReplayJob(
        "empty", ReplayOptions(), ReplaySource("", 1),
        (*modules, _empty("filter", Kind.FILTER, consumed)), (ReplayPath("path", ("filter",)),),
    )  # fmt: skip


def _empty(label: str, kind: Kind, consumes: tuple[Product, ...]) -> ReplayModule:
    produces = ("",) if kind is Kind.PRODUCER else ()
    return ReplayModule(
        label, kind, "", Concurrency.REENTRANT, Work.NONE, False, np.zeros(1), consumes, produces
    )


COLUMNS = (
    Column("rate", "events/s", "rate"),
    Column("cpu", "CPUs used", "ratio"),
    Column("speedup", "speed-up", "ratio"),
    Column("of_path", "of the critical path", "share"),
    Column("time_s", "time", "time"),
)


class Ratio(Struct, frozen=True):
    """Ratio of two ways: `best` is the value for an ideal scheduler on idle cores."""

    name: str
    value: float
    best: float


_RATIOS: tuple[tuple[str, str, str, str, float], ...] = (
    ("empty modules: tasks, one thread", "empty:\ntasks", "empty: 1 × 1", "empty: serial", 1),
    ("empty modules: an idle thread", "empty:\nidle", "empty: 2 × 1", "empty: 1 × 1", 1),
    ("empty modules: two threads, two events", "empty:\n2 × 2", "empty: 2 × 2", "empty: 1 × 1", 2),
    ("no work: tasks, one thread", "", "no work: 1 × 1", "no work: serial", 1),
    ("no work: an idle thread", "", "no work: 2 × 1", "no work: 1 × 1", 1),
    ("no work: two threads, two events", "", "no work: 2 × 2", "no work: 1 × 1", 2),
    ("busy: two threads, two events", "busy:\n2 × 2", "busy: 2 × 2", "busy: serial", 2),
    ("busy: coroutines", "busy:\ncorout.", "busy: 2 × 2, coroutines", "busy: 2 × 2", 1),
    ("busy: all modules unsafe", "busy:\nunsafe", "busy: 2 × 2, all unsafe", "busy: serial", 1),
    ("ten sleeping: 15 threads", "10 ev.\n15 thr.", "ten sleeping: 15 threads",
     "ten sleeping: 80 threads", 1),
    ("ten sleeping: 20 threads", "10 ev.\n20 thr.", "ten sleeping: 20 threads",
     "ten sleeping: 80 threads", 1),
)  # fmt: skip
"""Name, label in the plot (omitted if empty), the way, the way compared with, the best possible
ratio."""
_OF_PATH = "one sleeping: of the critical path"


def ratios(rows: Mapping[str, Row]) -> dict[str, Ratio]:
    """All ratios of the study, by name."""
    found = [
        Ratio(name, rows[way]["rate"] / rows[other]["rate"], best)
        for name, _, way, other, best in _RATIOS
    ]
    found.append(Ratio(_OF_PATH, rows["one sleeping: 40 threads"]["of_path"], 1))
    return {ratio.name: ratio for ratio in found}


def idle_cpu(rows: Mapping[str, Row]) -> float:
    """CPU time divided by wall time of eight threads with one sleeping event: they only wait."""
    return rows["one sleeping: 8 threads"]["cpu"]


def measure_scheduling(
    job: ReplayJob, sizes: Sizes, n_repeats: int, *, quiet: bool = False
) -> Study:
    """Measures all ways. `job`: provides graph and times of the modules. Raises ConfigError and
    JobError."""
    rows, load = measure_ways(ways(job, sizes), n_repeats, quiet=quiet)
    found = ratios(rows)
    return Study(
        "scheduling", job.name, COLUMNS, rows, load,
        [f"{ratio.name}: {ratio.value:.2f} of {ratio.best:g}" for ratio in found.values()],
        [
            "N × M: threads × events in flight. empty: a filter and three producers; no work: all"
            " modules of the job; busy, sleeping: these take (parts of) their times. Of the"
            " critical path: the least time that any number of threads takes, over the time",
            f"eight threads that wait use {percent(idle_cpu(rows))} of one CPU",
        ],
        _figures(rows, found), _plot(job, found),
    )  # fmt: skip


def _figures(rows: Mapping[str, Row], found: Mapping[str, Ratio]) -> list[Figure]:
    values = [
        ("P4.4", "empty modules, single-threaded", rows["empty: serial"]["rate"]),
        ("P4.4", "empty modules, TBB", rows["empty: 1 × 1"]["rate"]),
        ("P4.4", "empty modules, TBB over single-threaded",
         found["empty modules: tasks, one thread"].value),
        ("P2.1", "thread-unsafe over single-threaded", found["busy: all modules unsafe"].value),
        ("P2.1", "re-entrant over single-threaded, 16 events",
         found["busy: two threads, two events"].value / 2),
        ("P2.4", "measured speed-up", rows["one sleeping: 40 threads"]["speedup"]),
        *(("P4.2", f"10 events on {n} threads, of the maximum",
           found[f"ten sleeping: {n} threads"].value)
          for n in (15, 20)),
    ]  # fmt: skip
    return [Figure.of(*value) for value in values]


def _plot(job: ReplayJob, found: Mapping[str, Ratio]) -> Plot:
    """Plot of each ratio relative to the best."""
    ticks = {name: tick for name, tick, *_ in _RATIOS if tick} | {_OF_PATH: "1 ev.\npath"}
    names = [*ticks]
    ours = [(float(x), found[name].value / found[name].best) for x, name in enumerate(names)]
    theirs = {
        "empty modules: tasks, one thread": ("P4.4", "empty modules, TBB over single-threaded"),
        "busy: two threads, two events": ("P2.1", "re-entrant over single-threaded, 16 events"),
        "busy: all modules unsafe": ("P2.1", "thread-unsafe over single-threaded"),
        **{f"ten sleeping: {n} threads": ("P4.2", f"10 events on {n} threads, of the maximum")
           for n in THREADS.values() if n < 80},
    }  # fmt: skip
    points = [(float(names.index(name)), published(*what).value) for name, what in theirs.items()]
    return Plot(
        "Scheduling, over the best that can be", job.name, "", "share of the best",
        [Curve("here", ours), Curve("published (TBB, libdispatch)", points, theirs=True)],
        ticks=[*ticks.values()], ideal=1.0,
    )  # fmt: skip
