"""Statistics that describe a graph of modules with times, their fit to a replay file, and the
generation of such a file from them."""

from __future__ import annotations

from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct, json
from msgspec.structs import replace

from forkrun.errors import ConfigError
from forkrun.studies.estimate.graph import EstimateGraph, graph_of_replay
from forkrun.studies.estimate.scaling import critical_path_speedup
from forkrun.studies.replay.model import Kind, ReplayJob
from forkrun.studies.replay.read import parse_replay


class Statistics(Struct, frozen=True):
    """Statistics of a graph; quantiles are at equal steps from 0 to 1, with interpolation.

    `n_levels` : modules on the longest chain of dependencies. `level_quantiles` : relative level of
    a module between the first (0) and the last (1). `input_quantiles` : number of products consumed
    by a producer. `log_time_quantiles` : natural logarithm of a module's mean time [s].
    `spread_quantiles` : standard deviation of that logarithm over events. `correlation` : of the
    logarithm between modules of the same event. `filter_inputs` : share of all producers that a
    filter consumes directly. `spine_share` : probability of placing the longest times on the chain
    through all levels, which becomes the critical path. `one`, `unsafe` : shares of modules."""

    n_modules: int
    n_filters: int
    n_levels: int
    level_quantiles: tuple[float, ...]
    input_quantiles: tuple[float, ...]
    log_time_quantiles: tuple[float, ...]
    spread_quantiles: tuple[float, ...]
    correlation: float
    filter_inputs: float
    spine_share: float
    one: float
    unsafe: float


def draw(
    quantiles: tuple[float, ...], n: int, random: np.random.Generator
) -> npt.NDArray[np.float64]:
    """Draws (n,) values, one from each n-th part of the distribution, in random order."""
    places = (np.arange(n) + random.uniform(size=n)) / n
    values = np.interp(places, np.linspace(0, 1, len(quantiles)), quantiles)
    return random.permutation(values)


PRESETS = json.decode(
    Path(__file__).with_name("presets.json").read_bytes(), type=dict[str, Statistics]
)


_THREAD_TYPES = {
    "reentrant": "ThreadSafeBetweenInstances",
    "one": "ThreadSafeBetweenModules",
    "unsafe": "ThreadUnsafe",
}
_SPREAD_AT_MOST = 2.5
_MOST_TIMES = 100_000_000


class WorkloadOptions(Struct, frozen=True):
    """Properties of the file; None: as in the statistics. `n_events` : with individual times.
    `concurrency` None: in the statistics' shares. `scale` : factor of all times."""

    n_modules: int | None = None
    n_filters: int | None = None
    n_events: int = 100
    iterations: int | None = None
    in_flight: int = 1
    seed: int = 1
    concurrency: Literal["reentrant", "one", "unsafe"] | None = None
    mode: Literal["busywait", "sleep"] = "busywait"
    scale: float = 1.0

    def __post_init__(self) -> None:
        counts = (self.n_modules, self.n_filters, self.n_events, self.iterations, self.in_flight)
        if any(count is not None and count < 1 for count in counts):
            raise ConfigError("workload: numbers of modules, filters and events begin with 1")
        n_times = (self.n_modules or 1) * self.n_events
        if n_times > _MOST_TIMES or (self.n_filters or 1) * self.n_events > _MOST_TIMES:
            what = f"at most {_MOST_TIMES:,} times (modules x events): all of them are in the file"
            raise ConfigError(f"workload: {what}")
        if self.seed < 0:
            raise ConfigError(f"workload: --seed: a number from 0 on is needed, not {self.seed}")
        if not 0 < self.scale < float("inf"):
            raise ConfigError(f"workload: --scale: a number above 0 is needed, not {self.scale}")


def generate(statistics: Statistics, options: WorkloadOptions) -> dict[str, Any]:
    """Content of a replay file; the same for the same options. Every producer is consumed by
    another one or by a filter."""
    random = np.random.default_rng(options.seed)
    n_filters = options.n_filters or statistics.n_filters
    n_modules = options.n_modules or statistics.n_modules
    n_producers = max(n_modules - n_filters, 1)
    levels = _levels(statistics, n_producers, random)
    inputs = _inputs(statistics, levels, random)
    times = _times(statistics, levels, n_filters, options, random)
    kinds = _concurrency(statistics, n_producers + n_filters, options, random)
    labels = [f"producer{i:0{len(str(n_producers))}d}" for i in range(n_producers)]
    wanted = _filter_inputs(statistics, inputs, n_filters, random)
    names = [f"filter{i}" for i in range(n_filters)]
    rows = zip([*labels, *names], [*inputs, *wanted], times.tolist(), kinds, strict=True)
    modules = [
        _module(row, labels, options.mode, "Producer" if i < n_producers else "PassFilter")
        for i, row in enumerate(rows)
    ]
    return {
        "process": {
            "label": "WORKLOAD",
            "options": {"nSimultaneousEvents": options.in_flight},
            "source": {
                "@type": "demo::SimpleSource",
                "iterations": options.iterations or options.n_events,
            },
            "producers": modules[:n_producers],
            "filters": modules[n_producers:],
            "paths": {f"path{i}": [name] for i, name in enumerate(names)},
        }
    }


def synthetic_job(preset: str) -> ReplayJob:
    """Generates a job from one of PRESETS."""
    return parse_replay(generate(PRESETS[preset], WorkloadOptions()), preset)


def _levels(statistics: Statistics, n: int, random: np.random.Generator) -> npt.NDArray[np.int64]:
    """(n,) levels of the producers, ascending. The first producer on each level is part of the
    spine."""
    n_levels = min(statistics.n_levels, n)
    drawn = np.rint(draw(statistics.level_quantiles, n - n_levels, random) * (n_levels - 1))
    return np.sort(np.concatenate([np.arange(n_levels), drawn.astype(np.int64)]))


def _spine(levels: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.unique(levels, return_index=True)[1]


def _inputs(
    statistics: Statistics, levels: npt.NDArray[np.int64], random: np.random.Generator
) -> list[list[int]]:
    """Inputs of each producer: one from the level below, which defines its own level, others from
    any lower level; for the spine: the spine."""
    spine = _spine(levels)
    n_inputs = np.rint(draw(statistics.input_quantiles, len(levels), random)).astype(int)
    inputs: list[list[int]] = []
    for producer, level in enumerate(levels.tolist()):
        if level == 0:
            inputs.append([])
            continue
        below = np.flatnonzero(levels == level - 1)
        is_spine = producer == spine[level]
        nearest = spine[level - 1] if is_spine else random.choice(below)
        lower = int(spine[level])  # Producers before it are on lower levels.
        others = random.choice(
            lower, size=min(max(n_inputs[producer] - 1, 0), lower), replace=False
        )
        inputs.append(sorted({int(nearest), *others.tolist()}))
    return inputs


def _times(
    statistics: Statistics,
    levels: npt.NDArray[np.int64],
    n_filters: int,
    options: WorkloadOptions,
    random: np.random.Generator,
) -> npt.NDArray[np.float64]:
    """Times: (n_modules, n_events) [s]."""
    n = len(levels) + n_filters
    means = np.sort(np.exp(draw(statistics.log_time_quantiles, n, random)))[::-1]
    placed = np.empty(n)
    placed[_places(levels, n, statistics.spine_share, random)] = means
    spread = np.minimum(draw(statistics.spread_quantiles, n, random), _SPREAD_AT_MOST)
    common = random.standard_normal(options.n_events)
    own = random.standard_normal((n, options.n_events))
    share = statistics.correlation
    wave = np.sqrt(share) * common + np.sqrt(1 - share) * own
    times = placed[:, None] * np.exp(spread[:, None] * wave - spread[:, None] ** 2 / 2)
    return np.asarray(times * options.scale)


def _places(
    levels: npt.NDArray[np.int64], n: int, spine_share: float, random: np.random.Generator
) -> npt.NDArray[np.int64]:
    """(n,) modules with the longest mean time, the second longest, …"""
    spine = random.permutation(_spine(levels)).tolist()
    others = random.permutation(np.setdiff1d(np.arange(n), spine)).tolist()
    places = []
    for chance in random.uniform(size=n).tolist():
        from_spine = bool(spine) and (chance < spine_share or not others)
        places.append((spine if from_spine else others).pop())
    return np.array(places)


def _filter_inputs(
    statistics: Statistics,
    inputs: list[list[int]],
    n_filters: int,
    random: np.random.Generator,
) -> list[list[int]]:
    """Inputs of each filter: its share of producers; producers without consumers are dealt among
    the filters."""
    n = len(inputs)
    consumed = {maker for makers in inputs for maker in makers}
    wanted = []
    for number in range(n_filters):
        some = random.choice(n, size=max(round(statistics.filter_inputs * n), 1), replace=False)
        free = [i for i in range(n) if i not in consumed and i % n_filters == number]
        wanted.append(sorted({*some.tolist(), *free}))
    return wanted


def _concurrency(
    statistics: Statistics, n: int, options: WorkloadOptions, random: np.random.Generator
) -> list[str]:
    if options.concurrency is not None:
        return [options.concurrency] * n
    n_one, n_unsafe = round(statistics.one * n), round(statistics.unsafe * n)
    kinds = ["one"] * n_one + ["unsafe"] * n_unsafe
    kinds += ["reentrant"] * (n - len(kinds))
    return [kinds[i] for i in random.permutation(n).tolist()]


def _module(
    row: tuple[str, list[int], list[float], str], labels: list[str], mode: str, kind: str
) -> dict[str, Any]:
    label, inputs, times_s, concurrency = row
    way = "BusyWait" if mode == "busywait" else "Sleeping"
    return {
        "@label": label,
        "@type": f"demo::EventTimes{way}{kind}",
        "threadType": _THREAD_TYPES[concurrency],
        "eventTimes": [float(f"{time_s:.6g}") for time_s in times_s],
        "toGet": [{"label": labels[i], "product": ""} for i in inputs],
    }


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
    levels = _levels_of(graph)
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


def _levels_of(graph: EstimateGraph) -> dict[int, int]:
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
