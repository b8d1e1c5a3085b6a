"""The middle of a long run, excluding the filling at the start and the emptying at the end."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from forkrun.studies.estimate.graph import EstimateGraph
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
