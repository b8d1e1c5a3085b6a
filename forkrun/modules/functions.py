"""Modules made of a function of the event block, or of an expression."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from forkrun.base.user_code import unpartial
from forkrun.errors import ConfigError
from forkrun.histograms.filled_columns import Given, fill_events, returned_of
from forkrun.modules.base import Analyzer, Filter, Module, Producer
from forkrun.modules.block import EventBlock
from forkrun.modules.expressions import Expression

Function = Callable[..., Any]


class FunctionFilter(Filter):
    """Filter by `function(events, **params)`: (n_events,) bool; missing values (None) are
    refused."""

    def __init__(self, function: Function, params: Mapping[str, Any]) -> None:
        self.function, self.params = function, params

    def filter(self, block: EventBlock) -> Any:
        return self.function(block, **self.params)


class FunctionProducer(Producer):
    """Producer by `function(events, **params)`: a dict of columns, or a single column, which
    replaces one or gets this name."""

    def __init__(self, function: Function, params: Mapping[str, Any], name: str) -> None:
        self.function, self.params, self.name = function, params, name

    def produce(self, block: EventBlock) -> Mapping[str, Any]:
        made = self.function(block, **self.params)
        if isinstance(made, Mapping):
            return made
        return {self.replaces[0] if len(self.replaces) == 1 else self.name: made}


class FunctionAnalyzer(Analyzer):
    """Analyzer by `function(events, **params, **histograms)`, which fills histograms."""

    def __init__(
        self, function: Function, params: Mapping[str, Any], histograms: Mapping[str, Any]
    ) -> None:
        self.function, self.params = function, params
        self.histograms = {n: self.book(n, copy.deepcopy(h)) for n, h in histograms.items()}

    def analyze(self, block: EventBlock) -> None:
        self.function(block, **self.params, **self.histograms)


class FunctionHistogram(Analyzer):
    """Histogram with this name, filled with the values of `function(events, **params)` for the
    events left by the path: one or any number per event, or a tuple of these for several axes. None
    is not filled. `weight`: a number, or a function that returns one weight per event or per value,
    or (n_events, n_variations)."""

    def __init__(
        self,
        function: Function,
        params: Mapping[str, Any],
        axes: Sequence[Mapping[str, Any]],
        weight: Function | float | None,
        name: str,
    ) -> None:
        import hist  # slow to load

        from forkrun.histograms.configured_axes import make_axis

        self.function, self.params, self.weight = function, params, weight
        self.given = Given(_name_of(function), _name_of(weight))
        made = [make_axis(axis, number, name) for number, axis in enumerate(axes)]
        self.filled = self.book(name, hist.Hist(*made, storage=hist.storage.Weight()))

    def analyze(self, events: EventBlock) -> None:
        values = returned_of("what", self.function(events, **self.params))
        weight = self.weight
        if callable(weight):
            weight = returned_of("weight", weight(events))
        fill_events(self.filled, values, weight, len(events), self.given)


def _name_of(given: Any) -> str:
    """Name of a function or expression for messages."""
    if isinstance(given, Expression):
        return f'"{given.text}"'
    plain = unpartial(given)
    name, code = getattr(plain, "__name__", ""), getattr(plain, "__code__", None)
    where = f" of {code.co_filename}, line {code.co_firstlineno}" if code else ""
    return f"{name}()" if name.isidentifier() else f"the function{where}"


def make_module(kind: str, label: str, function: Function, **given: Any) -> Module:
    """Module of a function. `given`: further arguments of its kind."""
    params = given["params"]
    match kind:
        case "filter":
            module: Module = FunctionFilter(function, params)
        case "producer":
            module = FunctionProducer(function, params, given["name"] or label)
        case "analyzer":
            module = FunctionAnalyzer(function, params, given["histograms"])
        case "histogram":
            name = given["name"] or label
            module = FunctionHistogram(function, params, given["axes"], given["weight"], name)
        case _:
            raise ConfigError(f'module "{label}": name its kind: filter, producer, analyzer')
    return module
