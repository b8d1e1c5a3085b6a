"""Counts what the filters of each path leave: events and, where a weight is named, exact sums."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from forkrun import _core
from forkrun.base.nearest import suggestion
from forkrun.config import JobConfig
from forkrun.rundir.ledger import CUTFLOW_LABEL, CutCount

if TYPE_CHECKING:
    from forkrun.modules.python_module import PythonModule


class CutCounter:
    """An analyzer of our own on a path. `after`: the filter whose survivors it counts; "": none,
    all events."""

    def __init__(self, path: str, after: str, weight: str) -> None:
        self.path, self.after, self.weight = path, after, weight
        self._n_events = 0
        self._sums = _core.ExactSums(2, 1) if weight else None

    def analyze(self, block: _core.Block) -> None:
        mask = block.mask
        n_events = int(np.count_nonzero(mask))
        self._n_events += n_events
        if self._sums is not None and n_events:
            weights = np.asarray(block.column(self.weight))[mask].astype(np.float64)
            self._sums.add(np.zeros(n_events, dtype=np.uint32), np.stack([weights, weights**2]))

    def take(self) -> CutCount:
        """What was counted since this was last asked."""
        taken = CutCount(self.after, self._n_events, self._packed())
        self.clear()
        return taken

    def _packed(self) -> list[int] | None:
        return None if self._sums is None else self._sums.packed().tolist()

    def clear(self) -> None:
        self._n_events = 0
        if self._sums is not None:
            self._sums.clear()


class Cutflow:
    """The counters of all paths, in their order."""

    def __init__(self, counters: Sequence[CutCounter] = ()) -> None:
        self._counters = counters

    def take(self) -> dict[str, list[CutCount]] | None:
        """By path; None where nothing is counted."""
        taken: dict[str, list[CutCount]] = {}
        for counter in self._counters:
            taken.setdefault(counter.path, []).append(counter.take())
        return taken or None

    def clear(self) -> None:
        for counter in self._counters:
            counter.clear()


def weight_problems(weight: str, columns: Mapping[str, str]) -> list[str]:
    """Why a column cannot be the weight. `columns`: types by name, of the input and produced."""
    where = "monitoring.cutflow_weight"
    if not weight:
        return []
    if weight not in columns:
        return [f'{where}: there is no column "{weight}"{suggestion(weight, sorted(columns))}']
    if columns[weight].endswith("[]"):
        return [f'{where}: "{weight}" is {columns[weight]}; a weight has one value per event']
    return []


def add_paths(
    builder: _core.ScheduleBuilder,
    config: JobConfig,
    modules: Mapping[str, PythonModule],
    failed: set[str],
    weight: str,
) -> Cutflow:
    """Adds the paths, with a counter at the beginning and behind each filter of those that have
    any. `failed`: labels of modules that could not be constructed; `weight`: the column of
    weights, if any."""
    counters: list[CutCounter] = []
    is_counted = _is_counted(config, modules)
    for path, given in config.paths.items():
        labels = [label for label in given if label not in failed]
        if is_counted and any(_is_filter(label, config, modules) for label in labels):
            places = _with_counters(path, labels, config, modules, weight)
            labels = [
                place if isinstance(place, str) else _add(builder, place, counters)
                for place in places
            ]
        if any(output.decisions for output in config.outputs):
            label = f"{CUTFLOW_LABEL}decisions of {path}"
            builder.add_path_decision(label, path)
            labels = [*labels, label]
        builder.add_path(path, labels)
    return Cutflow(counters)


def _is_counted(config: JobConfig, modules: Mapping[str, PythonModule]) -> bool:
    """Not asked for, only where a call of a Python module more is nothing new."""
    if config.monitoring.cutflow is not None:
        return config.monitoring.cutflow
    on_paths = {label for labels in config.paths.values() for label in labels}
    return any(m.kind == "filter" for label, m in modules.items() if label in on_paths)


def _is_filter(label: str, config: JobConfig, modules: Mapping[str, PythonModule]) -> bool:
    """Of modules in C++ nobody says so here: one that is none leaves the events as they are."""
    if label in modules:
        return modules[label].kind == "filter"
    return any(m.label == label and m.type.startswith("cpp:") for m in config.modules)


def _with_counters(
    path: str,
    labels: Sequence[str],
    config: JobConfig,
    modules: Mapping[str, PythonModule],
    weight: str,
) -> Iterator[str | CutCounter]:
    yield CutCounter(path, "", weight)
    for label in labels:
        yield label
        if _is_filter(label, config, modules):
            yield CutCounter(path, label, weight)


def _add(builder: _core.ScheduleBuilder, counter: CutCounter, counters: list[CutCounter]) -> str:
    """Adds a counter to the modules; gives its label."""
    counters.append(counter)
    label = f"{CUTFLOW_LABEL}{len(counters)}"
    consumes = [counter.weight] if counter.weight else []
    builder.add_python_module(label, "analyzer", counter, consumes, {}, "", False)
    return label
