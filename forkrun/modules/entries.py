"""Modules from entries of [[modules]]: of a class, a function, or an expression."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from forkrun.base.user_code import bind_parameters, in_user_code, unpartial
from forkrun.conditions import Conditions, ModuleConditions
from forkrun.config.modules import ModuleConfig
from forkrun.errors import ConfigError
from forkrun.histograms import filled_columns
from forkrun.histograms.configured_axes import axis_settings, filled_axes
from forkrun.modules.base import Analyzer, Filter, Module, Producer
from forkrun.modules.block import EventBlock
from forkrun.modules.expressions import Expression
from forkrun.modules.loading import checked_class, construct, find_class, find_object
from forkrun.modules.program.given import Given, find_given, is_given
from forkrun.modules.python_module import PythonModule

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

        self.function, self.params, self.weight = function, params, weight
        self.given = filled_columns.Given(_name_of(function), _name_of(weight))
        made = hist.Hist(*filled_axes(axes, name), storage=hist.storage.Weight())
        self.filled = self.book(name, made)

    def analyze(self, events: EventBlock) -> None:
        values = filled_columns.returned_of("what", self.function(events, **self.params))
        weight = self.weight
        if callable(weight):
            weight = filled_columns.returned_of("weight", weight(events))
        filled_columns.fill_events(self.filled, values, weight, len(events), self.given)


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


def load_entry(entry: ModuleConfig, conditions: Conditions) -> PythonModule:
    """Module of an entry that is not in C++. Raises ConfigError, with the place of a failure in the
    user's code."""
    where = f'module "{entry.label}"'
    given, kind = None, None
    if entry.kind is None and not entry.type.startswith("given:") and not is_given(entry.type):
        kind = find_class(entry.type.removeprefix("python:"), where)
    else:
        given = _given_for(entry, where)
    _check_values(entry, given.functions if given else [kind], where)
    if given and inspect.isclass(given.function):
        kind = checked_class(given.function, where)
    if kind is not None:
        return construct(kind, entry.params, conditions, where)
    assert given is not None
    return _function_module(entry, given, conditions, where)


def _check_values(entry: ModuleConfig, functions: Sequence[Any], where: str) -> None:
    """Checks that this process has the values in the user's modules with which the program built
    the job: else it is another job. Raises ConfigError."""
    if not entry.values:
        return
    from forkrun.modules.program.dependence import differing, used_values  # slow to load

    if names := differing(entry.values, used_values(*functions)):
        raise ConfigError(
            f"{where}: {', '.join(names)}: the program that runs this job has set a value that"
            " this process does not have; run that program again, or take job.run(children=0)"
        )


def _given_for(entry: ModuleConfig, where: str) -> Given:
    if entry.type.startswith("given:") or is_given(entry.type):
        given = find_given(entry.type, where)
        if not isinstance(given.function, str):
            return given
        expression = _expression(given.function, where, entry.place)
        return Given(expression, given.histograms, given.weight)
    if entry.type.startswith("expression:"):
        return Given(_expression(entry.type.removeprefix("expression:"), where, entry.place))
    return Given(find_object(entry.type.removeprefix("python:"), where))


def _expression(text: str, where: str, place: tuple[str, int] | None) -> Expression:
    try:
        return Expression(text, place)
    except ValueError as error:
        line = f" ({place[0]}, line {place[1]})" if place else ""
        raise ConfigError(f"{where}{line}: {error}") from None


def _function_module(
    entry: ModuleConfig, given: Given, conditions: Conditions, where: str
) -> PythonModule:
    params: Mapping[str, Any] = entry.params
    if not isinstance(given.function, Expression):
        n_given = 1 + len(given.histograms)
        params = bind_parameters(given.function, params, where, n_given=n_given)
    weight = entry.weight if given.weight is None else given.weight
    if isinstance(weight, str):
        weight = _expression(weight, where, entry.place)
    try:
        module = make_module(
            str(entry.kind), entry.label, given.function, params=params, weight=weight,
            histograms=given.histograms, axes=[axis_settings(axis) for axis in entry.axes],
            name=entry.name,
        )  # fmt: skip
    except (ValueError, TypeError, KeyError) as error:
        raise ConfigError(f"{where}: {in_user_code(error)}") from None
    module.conditions = ModuleConditions(conditions)
    module.consumes = entry.consumes
    if entry.produces is not None:
        module.produces = entry.produces  # type: ignore[attr-defined]
    if isinstance(module, Producer):
        module.replaces, module.variations = entry.replaces, entry.variations
        module.only_variation, module.on_data = entry.variation or "", entry.on_data
    return PythonModule(module)
