"""Parallelism within one event with as many threads as it can use, with the critical path that
determines its end; and events per second against threads, in the middle of a long run, without the
filling at the start and the emptying at the end."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from forkrun.studies.estimate.graph import EstimateGraph
from forkrun.studies.estimate.simulate import Execution, Simulation, simulate


class CriticalModule(Struct, frozen=True):
    """`on_path_s` : its time on critical paths, per event; `share` : of their length; `n_events` :
    number of events with it on the critical path."""

    label: str
    on_path_s: float
    share: float
    n_events: int


class Parallelism(Struct, frozen=True, eq=False):
    """Averages over events are ratios of sums. `n_running` : (n_bins,) number of running modules,
    averaged over events, at `time_s` : (n_bins,) after the event's start. `time_with_s[k]` : time
    per event with k running modules. `speedup` : total / critical path, the maximum for one event
    at a time; also the average number of running modules."""

    n_events: int
    n_modules: int
    total_s: float
    critical_path_s: float
    speedup: float
    max_running: int
    time_with_s: npt.NDArray[np.float64]
    time_s: npt.NDArray[np.float64]
    n_running: npt.NDArray[np.float64]
    critical: tuple[CriticalModule, ...]

    def simple_speedup(self, n_threads: int) -> float:
        """Speed-up scaled as in the literature: a period with k running modules takes k / n times
        as long with n threads, if k > n."""
        counts = np.arange(len(self.time_with_s))
        scaled_s = (self.time_with_s * np.maximum(counts / n_threads, 1.0))[1:].sum()
        return float((self.time_with_s * counts).sum() / scaled_s) if scaled_s else 1.0


def measure_parallelism(graph: EstimateGraph, n_bins: int = 400) -> Parallelism:
    """Parallelism within single events of the graph, over all its events."""
    n_events = graph.n_events
    single = np.hsplit(graph.times_s, n_events)
    executions = [simulate(replace(graph, times_s=times_s), 1) for times_s in single]
    total_s = sum(execution.busy_s for execution in executions) / n_events
    path_s = sum(execution.makespan_s for execution in executions) / n_events
    time_with: dict[int, float] = defaultdict(float)
    edges = np.linspace(0.0, max(e.makespan_s for e in executions) or 1.0, n_bins + 1)
    running = np.zeros(n_bins)
    for execution in executions:
        _add_running(execution, time_with, edges, running)
    most = max(time_with, default=0)
    return Parallelism(
        n_events=n_events,
        n_modules=len(graph.needed()),
        total_s=total_s,
        critical_path_s=path_s,
        speedup=total_s / path_s if path_s else 1.0,
        max_running=most,
        time_with_s=np.array([time_with[k] / n_events for k in range(most + 1)]),
        time_s=(edges[1:] + edges[:-1]) / 2,
        n_running=running / n_events,
        critical=_critical(graph, executions),
    )


def critical_path_speedup(graph: EstimateGraph) -> float:
    """Sum of all times / sum of the lengths of the critical paths."""
    return measure_parallelism(graph, n_bins=1).speedup


def _add_running(
    execution: Execution,
    time_with: dict[int, float],
    edges: npt.NDArray[np.float64],
    running: npt.NDArray[np.float64],
) -> None:
    changes = sorted(
        [(call.start_s, 1) for call in execution.calls]
        + [(call.end_s, -1) for call in execution.calls]
    )
    times = np.array([time for time, _ in changes])
    counts = np.cumsum([change for _, change in changes])
    for count, length_s in zip(counts[:-1].tolist(), np.diff(times).tolist(), strict=True):
        if length_s > 0:
            time_with[count] += length_s
    # The integral of the number of running modules, up to each edge.
    integral = np.concatenate([[0.0], np.cumsum(counts[:-1] * np.diff(times))])
    running += np.diff(np.interp(edges, times, integral)) / np.diff(edges)


def _critical(graph: EstimateGraph, executions: list[Execution]) -> tuple[CriticalModule, ...]:
    on_path_s: dict[int, float] = defaultdict(float)
    n_events: Counter[int] = Counter()
    for execution in executions:
        index = len(execution.calls) - 1
        while index >= 0:
            call = execution.calls[index]
            on_path_s[call.module] += call.end_s - call.start_s
            n_events[call.module] += 1
            index = call.cause
    total_s = sum(on_path_s.values()) or 1.0
    return tuple(
        CriticalModule(
            graph.labels[module], time_s / len(executions), time_s / total_s, n_events[module]
        )
        for module, time_s in sorted(on_path_s.items(), key=lambda item: -item[1])
    )


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
