"""Events per second against threads, in the middle of a long run: without the filling at the start
and the emptying at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from forkrun.studies.estimate.graph import EstimateGraph
from forkrun.studies.estimate.parallelism import Parallelism
from forkrun.studies.estimate.simulate import Simulation

ENOUGH = 1e-3
"""Relative standard error at which a simulation ends."""
_BATCHES = 6
_BATCH_CALLS = 20_000
_MOST_CALLS = 1_000_000


class SteadyState(Struct, frozen=True):
    """`n_running` : mean number of running modules. `error` : its standard error, from the batches
    of the simulation."""

    n_running: float
    error: float


def steady_state(graph: EstimateGraph, n_threads: int, in_flight: int) -> SteadyState:
    """Steady state of a graph whose modules take time. Simulates batches until the mean is precise
    enough, or the calls are too many. Leaves out the first third: the remaining effect of the
    filling shrinks with each batch."""
    simulation = Simulation(graph, n_threads, in_flight)
    n_events = _batch_events(graph, in_flight)
    marks = [(0.0, 0.0)]
    while True:
        simulation.run(simulation.n_ended + n_events)
        marks.append((simulation.now_s, simulation.busy_s))
        n_batches = len(marks) - 1
        if n_batches < _BATCHES:
            continue
        found = _mean(np.diff(marks[n_batches // 3 :], axis=0))
        if found.error <= ENOUGH * found.n_running or simulation.n_calls >= _MOST_CALLS:
            return found


def _batch_events(graph: EstimateGraph, in_flight: int) -> int:
    """Number of events of a batch: a multiple of all events of the graph, so that batches differ by
    chance only; if these are too many, as many as the limit on calls allows. Each event in flight
    is followed by another at least twice."""
    n_modules = len(graph.needed())
    at_least = max(2 * in_flight, -(-_BATCH_CALLS // n_modules))
    n_rounds = -(-at_least // graph.n_events)
    return min(n_rounds * graph.n_events, max(at_least, _MOST_CALLS // _BATCHES // n_modules))


def _mean(batches: npt.NDArray[np.float64]) -> SteadyState:
    """Mean number of running calls and its error. `batches` : (n, 2) length, time in calls [s]."""
    length_s, busy_s = batches.T
    n_running = busy_s.sum() / length_s.sum()
    deviations = (busy_s - n_running * length_s) / length_s.mean()
    error = deviations.std(ddof=1) / np.sqrt(len(batches))
    return SteadyState(float(n_running), float(error))


class Scaling(Struct, frozen=True):
    """`speedup` : over one thread, in the steady state of the list-scheduling simulation, with its
    standard `error`; `efficiency` : per thread. `most` : tightest limit of the speed-up, and its
    cause `set_by`. `simple_speedup` : of one event at a time, scaled as in the literature."""

    n_threads: int
    in_flight: int
    events_per_s: float
    speedup: float
    error: float
    efficiency: float
    most: float
    set_by: str
    simple_speedup: float


class Limits(Struct, frozen=True):
    """Maximum events/s for any number of threads and events in flight: from the `slowest` module
    that takes one event at a time, with its label, and from all `unsafe` modules together; None
    without such modules."""

    slowest: float | None
    slowest_label: str | None
    unsafe: float | None


def scale(
    graph: EstimateGraph,
    parallelism: Parallelism,
    threads: Sequence[int],
    in_flight: int | None = None,
) -> list[Scaling]:
    """Scaling for each number of threads, with as many events in flight, or with `in_flight`."""
    return [_scale(graph, parallelism, n_threads, in_flight or n_threads) for n_threads in threads]


def _scale(
    graph: EstimateGraph, parallelism: Parallelism, n_threads: int, in_flight: int
) -> Scaling:
    work_s = parallelism.total_s
    found = steady_state(graph, n_threads, in_flight) if work_s else SteadyState(1.0, 0.0)
    bounds = [(float(n_threads), "threads"), *_bounds(graph, work_s)]
    speedup = min(found.n_running, *(most for most, _ in bounds))
    bounds.append((in_flight * parallelism.speedup, f"{graph.unit}s in flight"))
    most, set_by = min(bounds, key=lambda bound: bound[0])
    return Scaling(
        n_threads=n_threads,
        in_flight=in_flight,
        events_per_s=speedup / work_s * graph.events_per_block if work_s else 0.0,
        speedup=speedup,
        error=found.error,
        efficiency=speedup / n_threads,
        most=most,
        set_by=set_by,
        simple_speedup=parallelism.simple_speedup(n_threads),
    )


def _bounds(graph: EstimateGraph, work_s: float) -> Iterator[tuple[float, str]]:
    """Upper bounds of the speed-up for any number of threads, and the modules that set them."""
    found = limits(graph)
    block_s = work_s / graph.events_per_block
    if found.slowest is not None:
        yield found.slowest * block_s, str(found.slowest_label)
    if found.unsafe is not None:
        yield found.unsafe * block_s, "unsafe"


def limits(graph: EstimateGraph) -> Limits:
    """Limits of the event rate set by the modules called."""
    mean_s = graph.times_s.mean(axis=1) / graph.events_per_block
    needed = graph.needed()
    ones = [i for i in needed if graph.concurrency[i] == "one" and mean_s[i] > 0]
    unsafe_s = float(sum(mean_s[i] for i in needed if graph.concurrency[i] == "unsafe"))
    slowest = max(ones, key=lambda i: mean_s[i], default=None)
    return Limits(
        slowest=None if slowest is None else float(1 / mean_s[slowest]),
        slowest_label=None if slowest is None else graph.labels[slowest],
        unsafe=1 / unsafe_s if unsafe_s else None,
    )
