"""Filters, histograms and analyzers of a path, in order."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self, TypeVar

from msgspec.structs import replace

from forkrun.analysis.arguments import (
    call_for,
    check_axes,
    check_module,
    check_weight,
    check_what,
    is_axis,
    is_function,
    name_of,
)
from forkrun.analysis.step import Step
from forkrun.analysis.steps import Steps
from forkrun.base.arguments import (
    check_flags,
    check_label,
    check_text,
    check_texts,
    described,
    listed_names,
    plain_value,
    refused,
)  # fmt: skip
from forkrun.errors import ConfigError
from forkrun.schedule.plugins import kind_of_cpp

F = TypeVar("F", bound=Callable[..., Any])
Kind = Literal["filter", "producer", "analyzer", "histogram"]
_ANOTHER_CELL = (
    "; or, to redefine it, run the cell that makes the job first: this notebook does not tell "
    "which cell is running, so nothing is replaced"
)
_OF_PYTHON = "; job.filter, job.producer and job.analyzer take functions and classes in Python"
MAIN = "main"
"""The job's own path."""
Axis = Any  # of `hist`; (bins, low, high); or as [[modules.axes]] describes it


class JobPath:
    """One path of a job. Each filter, histogram and analyzer sees the events that pass the filters
    before it. Defined columns can be used by all paths."""

    def __init__(
        self,
        name: str,
        steps: Steps,
        paths: dict[str, JobPath],
        plugins: Callable[[], Sequence[str]],
        parent: JobPath | None = None,
    ) -> None:
        """`paths`: all of the job, by name; `plugins`: gives its libraries of C++ modules;
        `parent`: the path that this one continues."""
        self.name = name
        self._steps, self._paths, self._plugins = steps, paths, plugins
        self._parent = parent

    @property
    def labels(self) -> list[str]:
        """Labels of its modules, in order, after those of its parent's filters."""
        return [*self._labels_before(), *(step.label for step in self._steps.on_path(self.name))]

    def _labels_before(self) -> list[str]:
        if self._parent is None:
            return []
        before = self._steps.on_path(self._parent.name, until=self.name)
        return [*self._parent._labels_before(), *(s.label for s in before if s.is_filter)]

    def path(self, name: str) -> JobPath:
        """A path that continues after the present filters of this one, which run once for both; the
        same path for the same name."""
        check_label("path.path(…)", "name", check_text("path.path(…)", "name", name))
        if not self._steps.has_path(name):
            self._steps.add("path", name)
        return self._begun(name, self)

    def _begun(self, name: str, parent: JobPath | None) -> JobPath:
        found = self._paths.get(name)
        if found is None:
            found = JobPath(name, self._steps, self._paths, self._plugins, parent)
            self._paths[name] = found
        if found._parent is not parent:
            begins = f'after "{found._parent.name}"' if found._parent else "with all events"
            raise ConfigError(f'path "{name}" begins {begins}; give the new one another name')
        return found

    def filter(self, what: Any = ..., *, label: str | None = None, **params: Any) -> Any:
        """Accepts or refuses events. `what`: an expression, "nMuon >= 2"; or a function of the
        events, which returns (n_events,) bool. Also a decorator, with and without `params`, which
        the function gets as keywords. Returns the path; as a decorator, the function."""
        check_texts("job.filter(…)", label=label)
        if what is ...:
            return functools.partial(self.filter, label=label, **params)
        check_what(_call("filter", label), what, base="Filter")
        step = Step("filter", label or "", what, params, is_filter=True)
        self._add(step if label else self._numbered(step), on_path=True)
        return self if isinstance(what, str) or name_of(what) == "<lambda>" else what

    def add(
        self,
        what: str,
        *,
        label: str | None = None,
        concurrency: str | int | None = None,
        instances: str | None = None,
        resources: Sequence[str] = (),
        replaces: Sequence[str] = (),
        **params: Any,
    ) -> Self:
        """Adds a module in C++: add("cpp:Trijet", pt_min=30.0), of a library named in
        `job.plugins`, configure(job={"plugins": ["./libmine.so", "forkrun_modules"]}). `label`: its
        class, if not given; `params`: its parameters; others as in [[modules]]. A filter or
        analyzer belongs to this path; columns of a producer can be used by all."""
        if not isinstance(what, str) or not what.startswith("cpp:") or what == "cpp:":
            wrong = refused("job.add(…)", "what", 'a class in C++, "cpp:CLASS"', what)
            raise ConfigError(f"{wrong}{call_for(what) or _OF_PYTHON}")
        check_texts("job.add(…)", label=label, instances=instances)
        if isinstance(concurrency, bool) or not isinstance(concurrency, str | int | None):
            raise refused("job.add(…)", "concurrency", "a text or a number", concurrency)
        given: dict[str, Any] = {"concurrency": concurrency, "instances": instances}
        for key, names in (("resources", resources), ("replaces", replaces)):
            if not isinstance(names, tuple) or names:
                given[key] = listed_names("job.add(…)", key, "resource or column", names)
        name = label or what.removeprefix("cpp:")
        kind = kind_of_cpp(what.removeprefix("cpp:"), params, self._plugins())
        keys = {key: value for key, value in given.items() if value}
        step = Step("cpp", name, what, params, keys=keys, is_filter=kind == "filter")
        self._add(step, on_path=kind != "producer")
        return self

    def define(self, name: Any = ..., what: Any = None, **params: Any) -> Any:
        """Makes a column. `what`: an expression, or a function of the events that returns its
        values. Also a decorator: the column gets the function's name."""
        return self._column("define", name, what, params, {})

    def redefine(
        self, name: Any = ..., what: Any = None, *, on_data: bool = False, **params: Any
    ) -> Any:
        """Replaces a column: steps added later see the new one, and `NAME@input` is the old one.
        Called like `define`: redefine("Jet_pt", "1.02 * Jet_pt"), or as a decorator of a function
        with the column's name. Datasets with `is_data` keep the old column, unless `on_data`."""
        check_flags("job.redefine(…)", on_data=on_data)
        return self._column("redefine", name, what, params, {"on_data": on_data})

    def vary(
        self,
        column: str | Sequence[str],
        variation: str,
        *,
        on_data: bool = False,
        **directions: Any,
    ) -> Self:
        """Systematic variations of a column: vary("Jet_pt", "jes", up="1.02 * Jet_pt", down="0.98 *
        Jet_pt") makes jes_up and jes_down, each an expression or a function of the events; for
        several columns a function that returns a dict. Steps added later that depend on them run
        again for each, and histograms get an axis `variation`. Datasets with `is_data` have the
        nominal columns in all of them, unless `on_data`."""
        check_flags("job.vary(…)", on_data=on_data)
        columns = listed_names("job.vary(…)", "column", "column", column)
        call = _call("vary", columns[0])
        check_text(call, "variation", variation)
        if not directions:
            raise ConfigError(
                f'job.vary("{columns[0]}", "{variation}", …): give the directions, up="…", down="…"'
            )
        for direction, what in directions.items():
            check_what(call, what, direction)
            name = f"{variation}_{direction}"
            declared = {"replaces": columns, "variation": name, "on_data": on_data}
            self._add(self._version(Step("producer", f"{columns[0]}_{name}", what, declared)))
        return self

    def producer(self, what: Any = ..., *, label: str | None = None, **params: Any) -> Any:
        """Makes columns: by a function of the events that returns a dict of them, or a class
        derived from forkrun.Producer. Also a decorator, with and without `params`. May have
        `replaces=("Jet_pt",)` and `variations={"jes": ("up", "down")}`, distinguished by
        `events.variation`."""
        check_texts("job.producer(…)", label=label)
        if what is ...:
            return functools.partial(self.producer, label=label, **params)
        check_module(_call("producer", label), what, "Producer")
        self._add(Step("producer", label or _name(what, "producer"), what, params))
        return what

    def analyzer(self, what: Any = ..., *, label: str | None = None, **given: Any) -> Any:
        """Fills histograms: by a function of the events, or a class derived from forkrun.Analyzer.
        Also a decorator: `@job.analyzer(pt=hist.Hist(…))` books the histogram and passes it to the
        function as its parameter `pt`; other keywords are parameters as well."""
        check_texts("job.analyzer(…)", label=label)
        if what is ...:
            return functools.partial(self.analyzer, label=label, **given)
        check_module(_call("analyzer", label), what, "Analyzer")
        histograms = {key: value for key, value in given.items() if _is_histogram(value)}
        params = {key: value for key, value in given.items() if key not in histograms}
        label = label or _name(what, "analyzer")
        step = Step("analyzer", label, what, params, histograms=histograms)
        self._add(step, on_path=True)
        return what

    def hist(self, what: Any, *axes: Axis, name: str | None = None, weight: Any = None) -> Any:
        """Fills a histogram. `what`: an expression, or a function of the selected events, which
        returns one value or any number per event, or a tuple for several axes. `name`: by default
        that of the function or column. `weight`: an expression, a function or a number: one per
        event, or one per value. Also a decorator: `@job.hist((50, 0, 200))`. Stored in the file as
        hist_NAME/NAME; for paths other than the job's own as PATH_NAME/NAME."""
        check_texts("job.hist(…)", name=name)
        weight = check_weight(_call("hist", name or what), weight)
        if is_axis(what):
            check_axes(_call("hist", name), [what, *axes])
            return _decorator(self.hist, what, *axes, name=name, weight=weight)
        check_what("job.hist(…)", what)
        name = name or _name(what, "hist", 'name="…"')
        check_axes(_call("hist", name), axes)
        if not axes:
            raise ConfigError(
                f'job.hist("{name}", …): give the axes as (bins, low, high): '
                f'job.hist("{name}", (50, 0, 200)); or of hist.axis'
            )
        label = f"{'hist' if self.name == MAIN else self.name}_{name}"
        step = Step("histogram", label, what, {}, axes=axes, weight=weight, name=name)
        return self._add(step, on_path=True)

    def output(self, label: str = "events", **keys: Any) -> Self:
        """Writes the selected events of the path. `keys`: of [[outputs]], such as keep and drop."""
        check_label("job.output(…)", "label", check_text("job.output(…)", "label", label))
        plain = {key: plain_value("job.output(…)", key, value) for key, value in keys.items()}
        self._steps.add("output", label, {"label": label, "paths": [self.name], **plain})
        return self

    def _add(self, step: Step, on_path: bool = False) -> Self:
        path = self.name if on_path else ""
        call = _call({"histogram": "hist"}.get(step.kind, step.kind), step.name or step.label)
        check_label(call, "name" if step.name else "label", step.name or step.label)
        step = self._steps.apart(step)
        if other := self._steps.add("module", step.label, _with_plain_params(step), path):
            key = "name" if step.kind == "histogram" else "label"
            raise ConfigError(
                f'"{step.label}" is defined twice: {other.place} and {step.place}; give one another'
                f' name: {key}="…"{_ANOTHER_CELL if self._steps.are_cells_unknown else ""}'
            )
        return self

    def _column(
        self, method: str, name: Any, what: Any, params: dict[str, Any], own: dict[str, Any]
    ) -> Any:
        """Adds a new or replaced column. `own`: arguments for replaced ones only."""
        call = functools.partial(getattr(self, method), **own, **params)
        if name is ...:
            return _decorator(call)
        if is_function(name) and what is None:
            call(_name(name, method, f'job.{method}("NAME", …)'), name)
            return name
        check_text(f"job.{method}(…)", "name", name)
        if what is None:
            raise ConfigError(f'job.{method}("{name}", what): give an expression or a function')
        check_what(_call(method, name), what)
        if not own:
            check_label(f"job.{method}(…)", "name", name)
            return self._add(Step("producer", name, what, params))
        declared = {**params, "replaces": [name], **own}
        return self._add(self._version(Step("producer", f"new_{name}", what, declared)))

    def _version(self, step: Step) -> Step:
        """The step of a version of a column, with a unique label."""
        if label := self._steps.same(_with_plain_params(step), ""):
            return replace(step, label=label)
        numbered = (f"{step.label}{number}" for number in range(2, len(self._steps) + 3))
        labels = [step.label, *numbered]
        return replace(step, label=next(each for each in labels if each not in self._steps))

    def _numbered(self, step: Step) -> Step:
        """The step of an unnamed filter, with a name."""
        if not isinstance(step.what, str) and name_of(step.what).isidentifier():
            return replace(step, label=name_of(step.what))
        if label := self._steps.same(_with_plain_params(step), self.name):
            return replace(step, label=label)
        number = sum(each.kind == step.kind for each in self._steps.values()) + 1
        number = 1 if self._steps.is_again else number
        labels = (f"{step.kind}{each}" for each in range(number, number + len(self._steps) + 2))
        return replace(step, label=next(each for each in labels if each not in self._steps))


def _decorator(call: Callable[..., Any], *given: Any, **keys: Any) -> Callable[[Any], Any]:
    """Decorator that adds a function by a call, followed by these arguments, and returns it
    unchanged."""

    def over(function: Any) -> Any:
        call(function, *given, **keys)
        return function

    return over


def _name(what: Any, method: str, remedy: str = 'label="…"') -> str:
    name = what if isinstance(what, str) else name_of(what)
    if not name.isidentifier():
        raise ConfigError(f"job.{method}(…): {described(what)} has no name; give it one: {remedy}")
    return name


def _with_plain_params(step: Step) -> Step:
    """The step with plain parameters. Raises ConfigError for values that a configuration cannot
    hold."""
    kind = {"histogram": "hist"}.get(step.kind, step.kind)
    call = _call(kind, step.label)
    params = {k: plain_value(call, k, value, is_finite=True) for k, value in step.params.items()}
    return replace(step, params=params)


def _call(method: str, name: Any) -> str:
    """A call, in the form for messages."""
    return f'job.{method}("{name}", …)' if isinstance(name, str) else f"job.{method}(…)"


def _is_histogram(value: Any) -> bool:
    return not isinstance(value, Mapping) and not inspect.isclass(value) and hasattr(value, "fill")
