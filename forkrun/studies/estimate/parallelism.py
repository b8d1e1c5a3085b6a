"""One event at a time with as many threads as it can use: number of running modules against time,
and the critical path that determines the event's end."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from forkrun.studies.estimate.graph import EstimateGraph
from forkrun.studies.estimate.simulate import Execution, simulate


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
