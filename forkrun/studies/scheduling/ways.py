"""Ways of running modules that only take their time, each with its rate and CPU usage."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from forkrun.studies.estimate.graph import graph_of_replay
from forkrun.studies.estimate.simulate import simulate
from forkrun.studies.frame.repeats import Way
from forkrun.studies.replay.model import (
    Concurrency,
    Kind,
    Product,
    ReplayJob,
    ReplayModule,
    ReplayOptions,
    ReplayPath,
    ReplaySource,
    Work,
)
from forkrun.studies.replay.run import run_replay
from forkrun.studies.replay.settings import ReplaySettings


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
