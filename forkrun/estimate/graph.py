"""Who needs what, how long it takes, and what may run together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from forkrun.errors import ConfigError
from forkrun.replay import Kind, ReplayJob
from forkrun.timing import Timing


@dataclass(frozen=True)
class EstimateGraph:
    """Modules by number. One is called when it is asked for and its `inputs` are made; asking for
    it asks for them. `first` : asked for when an event begins; `then[i]` : when i has ended;
    `last` : when all that was asked for has ended. What nobody asks for is not called.

    `times_s` : (n_modules, n_events) [s]. `concurrency` : "reentrant", "one" (event at a time),
    "unsafe" (never together with another unsafe module)."""

    name: str
    labels: tuple[str, ...]
    concurrency: tuple[str, ...]
    inputs: tuple[tuple[int, ...], ...]
    first: tuple[int, ...]
    then: Mapping[int, tuple[int, ...]]
    last: tuple[int, ...]
    times_s: npt.NDArray[np.float64]

    @property
    def n_events(self) -> int:
        """Events with times of their own."""
        return int(self.times_s.shape[1])

    def needed(self) -> list[int]:
        """Modules that are called, if every filter accepts."""
        left = [*self.first, *self.last]
        seen: set[int] = set()
        while left:
            module = left.pop()
            if module not in seen:
                seen.add(module)
                left += [*self.inputs[module], *self.then.get(module, ())]
        return sorted(seen)


def graph_of_replay(job: ReplayJob, n_events: int | None = None) -> EstimateGraph:
    """Of a replay file: as many events as its longest list of times has, or `n_events`."""
    modules = job.modules
    numbers = {module.label: i for i, module in enumerate(modules)}
    n_events = n_events or max(len(module.event_times_s) for module in modules)
    first, then = _paths([[numbers[label] for label in path.filters] for path in job.paths])
    return EstimateGraph(
        name=job.name,
        labels=tuple(module.label for module in modules),
        concurrency=tuple(module.concurrency.value for module in modules),
        inputs=tuple(tuple({numbers[p.label]: None for p in m.consumes}) for m in modules),
        first=first,
        then=then,
        last=(),
        times_s=np.array([np.resize(module.event_times_s, n_events) for module in modules]),
    )


def graph_of_timing(timing: Timing, name: str) -> EstimateGraph:
    """Of a measured job: blocks are its events, each module takes its mean time."""
    modules = timing.modules
    numbers = {module.label: i for i, module in enumerate(modules)}
    if not modules or not any(module.count for module in modules):
        raise ConfigError(f"{name}: no module was called: there is nothing to estimate")
    kinds = [module.kind for module in modules]
    paths = [
        [numbers[label] for label in path if label in numbers] for path in timing.paths.values()
    ]
    first, then = _paths(paths, [kind == Kind.FILTER.value for kind in kinds])
    on_paths = {i for path in paths for i in path}
    free = tuple(i for i, kind in enumerate(kinds) if kind == "analyzer" and i not in on_paths)
    return EstimateGraph(
        name=name,
        labels=tuple(module.label for module in modules),
        concurrency=tuple(module.concurrency for module in modules),
        inputs=tuple(tuple(numbers[label] for label in module.inputs) for module in modules),
        first=(*first, *free),
        then=then,
        last=tuple(i for i, kind in enumerate(kinds) if kind == "output"),
        times_s=np.array([[module.mean_s] for module in modules]),
    )


def _paths(
    paths: Sequence[Sequence[int]], is_filter: Sequence[bool] | None = None
) -> tuple[tuple[int, ...], dict[int, tuple[int, ...]]]:
    """`first` and `then`: a module on a path is asked for when the filter before it has ended."""
    first: dict[int, None] = {}
    then: dict[int, dict[int, None]] = {}
    for path in paths:
        before: int | None = None
        for module in path:
            (first if before is None else then.setdefault(before, {}))[module] = None
            before = module if is_filter is None or is_filter[module] else before
    return tuple(first), {module: tuple(after) for module, after in then.items()}
