"""Events per second against threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from forkrun.estimate.graph import EstimateGraph
from forkrun.estimate.parallelism import Parallelism
from forkrun.estimate.simulate import simulate

_ROUNDS = 4
"""Times that each event in flight is followed by another: what begins and ends hardly counts."""


@dataclass(frozen=True)
class Scaling:
    """`events_per_s` : of the list-scheduling simulation, `speedup` : over one thread, `efficiency`
    : per thread; `simple_speedup` : of one event at a time, scaled as in the literature."""

    n_threads: int
    in_flight: int
    events_per_s: float
    speedup: float
    efficiency: float
    simple_speedup: float


@dataclass(frozen=True)
class Limits:
    """Events/s that cannot be surpassed with any number of threads and events in flight: `slowest`
    module that takes one event at a time, with its label, and all `unsafe` modules together; None
    where there are none."""

    slowest: float | None
    slowest_label: str | None
    unsafe: float | None


def scale(
    graph: EstimateGraph,
    parallelism: Parallelism,
    threads: Sequence[int],
    in_flight: int | None = None,
) -> list[Scaling]:
    """For each number of threads, with as many events in flight, or with `in_flight`."""
    rows = []
    for n_threads in threads:
        n_in_flight = in_flight or n_threads
        n_events = max(_ROUNDS * n_in_flight, graph.n_events)
        execution = simulate(graph, n_events, n_threads, n_in_flight)
        events_per_s = n_events / execution.makespan_s if execution.makespan_s else 0.0
        speedup = execution.busy_s / execution.makespan_s if execution.makespan_s else 1.0
        rows.append(
            Scaling(
                n_threads=n_threads,
                in_flight=n_in_flight,
                events_per_s=events_per_s,
                speedup=speedup,
                efficiency=speedup / n_threads,
                simple_speedup=parallelism.simple_speedup(n_threads),
            )
        )
    return rows


def limits(graph: EstimateGraph) -> Limits:
    """Of modules that are called."""
    mean_s = graph.times_s.mean(axis=1)
    needed = graph.needed()
    ones = [i for i in needed if graph.concurrency[i] == "one" and mean_s[i] > 0]
    unsafe_s = float(sum(mean_s[i] for i in needed if graph.concurrency[i] == "unsafe"))
    slowest = max(ones, key=lambda i: mean_s[i], default=None)
    return Limits(
        slowest=None if slowest is None else float(1 / mean_s[slowest]),
        slowest_label=None if slowest is None else graph.labels[slowest],
        unsafe=1 / unsafe_s if unsafe_s else None,
    )
