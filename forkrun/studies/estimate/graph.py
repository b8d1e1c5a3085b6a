"""Dependencies of modules, their times, and their concurrency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from forkrun.errors import ConfigError
from forkrun.monitoring.timing.model import Timing
from forkrun.studies.replay.model import Kind, ReplayJob


class MeasuredRun(Struct, frozen=True):
    """Source of the times: blocks of events, and the wall time of units, summed over children."""

    n_blocks: int
    n_events: int
    wall_s: float


class EstimateGraph(Struct, frozen=True):
    """Modules by number. A module is called once it is requested and its `inputs` are made;
    requesting it requests them. `first` : requested when an event begins; `then[i]` : when i has
    ended; `last` : when all requested modules have ended. Other modules are not called.

    `times_s` : (n_modules, n_events) [s]. `concurrency` : "reentrant", "one" (event at a time),
    "unsafe" (never together with another unsafe module). `run` : the run with the measured times;
    each event of the graph is then a block of the run."""

    name: str
    labels: tuple[str, ...]
    concurrency: tuple[str, ...]
    inputs: tuple[tuple[int, ...], ...]
    first: tuple[int, ...]
    then: Mapping[int, tuple[int, ...]]
    last: tuple[int, ...]
    times_s: npt.NDArray[np.float64]
    run: MeasuredRun | None = None

    @property
    def unit(self) -> str:
        """Meaning of an event of the graph: an "event" of a replay file or a "block" of a run."""
        return "event" if self.run is None else "block"

    @property
    def events_per_block(self) -> float:
        """Mean number of events of a block."""
        return 1.0 if self.run is None else self.run.n_events / self.run.n_blocks

    @property
    def n_events(self) -> int:
        """Number of events with their own times."""
        return int(self.times_s.shape[1])

    def needed(self) -> list[int]:
        """Modules called if every filter accepts."""
        left = [*self.first, *self.last]
        seen: set[int] = set()
        while left:
            module = left.pop()
            if module not in seen:
                seen.add(module)
                left += [*self.inputs[module], *self.then.get(module, ())]
        return sorted(seen)


def graph_of_replay(job: ReplayJob, n_events: int | None = None) -> EstimateGraph:
    """Graph of a replay file, with as many events as its longest list of times, or `n_events`."""
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
    """Graph of a measured job. Its single event has the times of the average block."""
    modules = timing.modules
    n_blocks = max((module.count for module in modules), default=0)
    if n_blocks == 0:
        raise ConfigError(f"{name}: no module was called: there is nothing to estimate")
    numbers = {module.label: i for i, module in enumerate(modules)}
    paths = [
        [numbers[label] for label in path if label in numbers] for path in timing.paths.values()
    ]
    first, then = _paths(paths, [module.kind == Kind.FILTER.value for module in modules])
    on_paths = {i for path in paths for i in path}
    free = [i for i, m in enumerate(modules) if m.kind == "analyzer" and i not in on_paths]
    graph = EstimateGraph(
        name=name,
        labels=tuple(module.label for module in modules),
        concurrency=tuple("one" if m.kind == "output" else m.concurrency for m in modules),
        inputs=tuple(tuple(numbers[label] for label in module.inputs) for module in modules),
        first=(*first, *free),
        then=then,
        last=tuple(i for i, module in enumerate(modules) if module.kind == "output"),
        times_s=np.array([[module.total_s / n_blocks] for module in modules]),
        run=MeasuredRun(n_blocks, timing.n_events, timing.wall_s),
    )
    called = {i for i, module in enumerate(modules) if module.count}
    asked = called.difference(graph.needed())  # by a running module; here, as the event begins
    return replace(graph, first=(*graph.first, *sorted(asked)))


def _paths(
    paths: Sequence[Sequence[int]], is_filter: Sequence[bool] | None = None
) -> tuple[tuple[int, ...], dict[int, tuple[int, ...]]]:
    """`first` and `then`: a module on a path is requested when the filter before it has ended."""
    first: dict[int, None] = {}
    then: dict[int, dict[int, None]] = {}
    for path in paths:
        before: int | None = None
        for module in path:
            (first if before is None else then.setdefault(before, {}))[module] = None
            before = module if is_filter is None or is_filter[module] else before
    return tuple(first), {module: tuple(after) for module, after in then.items()}
