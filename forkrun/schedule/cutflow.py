"""Counts events after each filter of a path and, given a weight, their exact sums of weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from forkrun import _core
from forkrun.config.model import JobConfig
from forkrun.formats.column_types import ColumnType
from forkrun.index.whole_input import ColumnNames
from forkrun.modules.columns import is_missing
from forkrun.rundir.ledger import CUTFLOW_LABEL, CutCount
from forkrun.schedule.variations import Variations

if TYPE_CHECKING:
    from forkrun.modules.python_module import Place, PythonModule

Flags = npt.NDArray[np.bool_]


class MissingCounter:
    """Counts events that reach a filter on a path and have no value for its decision. An analyzer
    before the filter knows which events reach it; that analyzer is called before or after the
    filter, on any thread. Each lane has one block at a time."""

    def __init__(self) -> None:
        self.n_events = 0
        self._waiting: dict[int, tuple[Place, bool, Flags]] = {}
        self._lock = Lock()

    def come(self, place: Place, mask: Flags) -> None:
        """`mask`: (n_events,) events of the block that reach the filter."""
        self._meet(place, True, mask)

    def decide(self, place: Place, missing: Flags | None) -> None:
        """`missing`: (n_events,) events of the block without a value; None: no such events."""
        if missing is not None:
            self._meet(place, False, missing)

    def _meet(self, place: Place, is_mask: bool, flags: Flags) -> None:
        with self._lock:
            other = self._waiting.pop(place[0], None)
            if other is None or other[:2] != (place, not is_mask):
                self._waiting[place[0]] = (place, is_mask, flags)
            elif len(other[2]) == len(flags):  # otherwise the filter is called per lumi
                self.n_events += int(np.count_nonzero(other[2] & flags))


class CutCounter:
    """Internal analyzer on a path. `after`: filter whose survivors it counts, with the `missing`
    values of that filter; "": counts all events. `next`: missing values of the next filter."""

    def __init__(self, path: str, after: str, weight: str, missing: MissingCounter) -> None:
        self.path, self.after, self.weight, self.missing = path, after, weight, missing
        self.next: MissingCounter | None = None
        self._n_events = 0
        self._sums = _core.ExactSums(2, 1) if weight else None

    def analyze(self, block: _core.Block) -> None:
        mask = block.mask
        n_events = int(np.count_nonzero(mask))
        self._n_events += n_events
        if self.next:
            self.next.come(block.place, mask)
        if self._sums is not None and n_events:
            weights = np.asarray(block.column(self.weight))[mask].astype(np.float64)
            weights[is_missing(weights)] = 0
            self._sums.add(np.zeros(n_events, dtype=np.uint32), np.stack([weights, weights**2]))

    def take(self) -> CutCount:
        """Returns the counts since the last call."""
        taken = CutCount(self.after, self._n_events, self._packed(), self.missing.n_events)
        self.clear()
        return taken

    def _packed(self) -> list[int] | None:
        return None if self._sums is None else self._sums.packed().tolist()

    def clear(self) -> None:
        self._n_events = self.missing.n_events = 0
        if self._sums is not None:
            self._sums.clear()


class Cutflow:
    """Counters of all paths, in path order."""

    def __init__(self, counters: Sequence[CutCounter] = ()) -> None:
        self._counters = counters

    def take(self) -> dict[str, list[CutCount]] | None:
        """Returns the counts by path; None without counters."""
        taken: dict[str, list[CutCount]] = {}
        for counter in self._counters:
            taken.setdefault(counter.path, []).append(counter.take())
        return taken or None

    def clear(self) -> None:
        for counter in self._counters:
            counter.clear()


def weight_problems(weight: str, columns: Mapping[str, str], names: ColumnNames) -> list[str]:
    """Reasons against a weight column. `columns`: types by name, of input and produced."""
    where = "monitoring.cutflow_weight"
    if not weight:
        return []
    if weight not in columns:
        return [f"{where}: {names.missing(weight, sorted(columns))}"]
    if not ColumnType.of(columns[weight]).is_number:
        return [f'{where}: "{weight}" is {columns[weight]}; a weight has one value per event']
    return []


def add_paths(
    builder: _core.ScheduleBuilder,
    config: JobConfig,
    modules: Mapping[str, PythonModule],
    variations: Variations,
    failed: set[str],
    weight: str,
) -> Cutflow:
    """Adds the paths, then those of variations; a path with filters gets a counter at its start and
    one after each filter. `failed`: labels of modules that could not be constructed; `weight`: the
    column of weights, if any."""
    counters = _Counters(builder, config, modules, weight)
    for path, given in config.paths.items():
        labels = counters.among(path, [label for label in given if label not in failed])
        if any(output.decisions for output in config.outputs):
            label = f"{CUTFLOW_LABEL}decisions of {path}"
            builder.add_path_decision(label, path)
            labels = [*labels, label]
        builder.add_path(path, labels)
    whole = _whole_paths(config, variations, counters.is_counted, weight)
    for path, labels in variations.varied_paths(whole).items():
        name, _, variation = path.partition("@")
        if counters.is_counted and (name, variation) in whole:
            product = variations.columns[variation].get(weight, weight)
            labels = counters.among(path, labels, product)
        builder.add_path(path, labels)
    return Cutflow(counters.added)


def _whole_paths(
    config: JobConfig, variations: Variations, is_counted: bool, weight: str
) -> set[tuple[str, str]]:
    """Paths, with variations, that must call all their filters: for cutflows or outputs."""
    weighted = {v for v in variations.names if weight in variations.columns[v]}
    wanted = {
        (path, output.variation)
        for output in config.outputs
        if output.variation
        for path in output.paths
    }
    varied = {(path, v) for path in config.paths for v in variations.of_path[path]}
    if not is_counted:
        return varied & wanted
    return varied | {(path, v) for path in config.paths for v in weighted}


class _Counters:
    """Adds counters to paths. `weight`: the column of weights, or ""."""

    def __init__(
        self,
        builder: _core.ScheduleBuilder,
        config: JobConfig,
        modules: Mapping[str, PythonModule],
        weight: str,
    ) -> None:
        self._builder, self._config, self._modules = builder, config, modules
        self._weight = weight
        self.is_counted = _is_counted(config, modules)
        self.added: list[CutCounter] = []

    def among(self, path: str, labels: Sequence[str], product: str = "") -> list[str]:
        """Inserts labels of counters into the labels. `product`: the weight's product there."""
        if not self.is_counted or not any(map(self._is_filter, labels)):
            return list(labels)
        last = CutCounter(path, "", self._weight, MissingCounter())
        counted = [self._add(last, product)]
        for label in labels:
            counted.append(label)
            if self._is_filter(label):
                last.next = missing = MissingCounter()
                if label in self._modules:
                    self._modules[label].on_decision.append(missing.decide)
                last = CutCounter(path, label.partition("@")[0], self._weight, missing)
                counted.append(self._add(last, product))
        return counted

    def _is_filter(self, label: str) -> bool:
        """Whether a module may be a filter; any C++ module may: others pass all events."""
        name = label.partition("@")[0]
        if name in self._modules:
            return self._modules[name].kind == "filter"
        return any(m.label == name and m.type.startswith("cpp:") for m in self._config.modules)

    def _add(self, counter: CutCounter, product: str) -> str:
        """Adds a counter to the modules; returns its label."""
        self.added.append(counter)
        label = f"{CUTFLOW_LABEL}{len(self.added)}"
        consumes = [counter.weight] if counter.weight else []
        sees = {counter.weight: product} if product and product != counter.weight else {}
        self._builder.add_python_module(
            label, "analyzer", counter, consumes, {}, "", False, sees, {}
        )
        return label


def _is_counted(config: JobConfig, modules: Mapping[str, PythonModule]) -> bool:
    """By default, only if a Python filter is on a path: another Python call then costs little."""
    if config.monitoring.cutflow is not None:
        return config.monitoring.cutflow
    on_paths = {label for labels in config.paths.values() for label in labels}
    return any(m.kind == "filter" for label, m in modules.items() if label in on_paths)
