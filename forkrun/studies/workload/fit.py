"""Fit of statistics to a replay file."""

from __future__ import annotations

from graphlib import TopologicalSorter

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from forkrun.studies.estimate.graph import EstimateGraph, graph_of_replay
from forkrun.studies.estimate.parallelism import critical_path_speedup
from forkrun.studies.replay.model import Kind, ReplayJob
from forkrun.studies.replay.read import parse_replay
from forkrun.studies.workload.generate import Statistics, WorkloadOptions, generate

_SHORTEST_S = 1e-7
_N_QUANTILES = 21
_N_HALVINGS = 7
_SEEDS = (1, 2, 3)


def fit(job: ReplayJob) -> Statistics:
    """Fits the statistics to the needed modules. Varies the share of long times on the spine until
    the critical path allows the same speed-up."""
    graph = graph_of_replay(job)
    needed = graph.needed()
    filters = [i for i in needed if job.modules[i].kind is Kind.FILTER]
    producers = [i for i in needed if job.modules[i].kind is Kind.PRODUCER]
    levels = _levels(graph)
    n_levels = int(max(levels[i] for i in producers)) + 1
    times = np.maximum(graph.times_s[needed], _SHORTEST_S)
    spread = np.log(times).std(axis=1)
    n = len(needed)
    statistics = Statistics(
        n_modules=n,
        n_filters=len(filters),
        n_levels=n_levels,
        level_quantiles=_quantiles(np.array([levels[i] / (n_levels - 1 or 1) for i in producers])),
        input_quantiles=_quantiles(np.array([len(graph.inputs[i]) for i in producers])),
        log_time_quantiles=_quantiles(np.log(times.mean(axis=1))),
        spread_quantiles=_quantiles(spread),
        correlation=_correlation(np.log(times), times.mean(axis=1)),
        filter_inputs=float(np.mean([len(graph.inputs[i]) for i in filters]) / len(producers)),
        spine_share=0.5,
        one=sum(graph.concurrency[i] == "one" for i in needed) / n,
        unsafe=sum(graph.concurrency[i] == "unsafe" for i in needed) / n,
    )
    return _with_spine(statistics, critical_path_speedup(graph))


def _levels(graph: EstimateGraph) -> dict[int, int]:
    levels: dict[int, int] = {}
    for module in TopologicalSorter(dict(enumerate(graph.inputs))).static_order():
        levels[module] = 1 + max((levels[maker] for maker in graph.inputs[module]), default=-1)
    return levels


def _quantiles(values: npt.NDArray[np.float64]) -> tuple[float, ...]:
    found = np.quantile(values, np.linspace(0, 1, _N_QUANTILES))
    return tuple(float(f"{value:.4g}") for value in found)


def _correlation(log_times: npt.NDArray[np.float64], means: npt.NDArray[np.float64]) -> float:
    """Time-weighted correlation between modules of one event: their common share of the
    variance."""
    spread = log_times.std(axis=1)
    varying = spread > 0
    waves = (log_times[varying] - log_times[varying].mean(axis=1)[:, None]) / spread[varying, None]
    weights = means[varying] / means[varying].sum()
    return float(f"{np.clip((weights @ waves).var(), 0.0, 1.0):.3g}")


def _with_spine(statistics: Statistics, speedup: float) -> Statistics:
    low, high = 0.0, 1.0  # More time on the spine means less parallelism.
    for _ in range(_N_HALVINGS):
        middle = (low + high) / 2
        found = _mean_speedup(replace(statistics, spine_share=middle))
        low, high = (middle, high) if found > speedup else (low, middle)
    return replace(statistics, spine_share=float(f"{(low + high) / 2:.3g}"))


def _mean_speedup(statistics: Statistics) -> float:
    files = (generate(statistics, WorkloadOptions(seed=seed, n_events=20)) for seed in _SEEDS)
    jobs = [graph_of_replay(parse_replay(raw, "workload")) for raw in files]
    return float(np.mean([critical_path_speedup(job) for job in jobs]))
