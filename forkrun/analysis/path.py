"""Filters, histograms and analyzers in order: what a job does with the events that are left."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self, TypeVar

from msgspec.structs import replace

from forkrun.analysis.arguments import (
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
    listed_names,
    plain_value,
    refused,
)  # fmt: skip
from forkrun.errors import ConfigError
from forkrun.schedule.plugins import kind_of_cpp

F = TypeVar("F", bound=Callable[..., Any])
Kind = Literal["filter", "producer", "analyzer", "histogram"]
_ANOTHER_CELL = (
    "; or, to define it anew, run the cell that makes the job first: here nobody tells which cell"
    " runs, so nothing else is replaced"
)
MAIN = "main"
"""The job's own path."""
Axis = Any  # of `hist`; (bins, low, high); or as [[modules.axes]] describes it


class JobPath:
    """One path of a job. Each filter, histogram and analyzer sees the events that the filters
    before it have left. What is defined can be used by all paths."""

    def __init__(
        self,
        name: str,
        steps: Steps,
        paths: dict[str, JobPath],
        plugins: Callable[[], Sequence[str]],
        behind: JobPath | None = None,
    ) -> None:
        """`paths`: all of the job, by name; `plugins`: gives its libraries of C++ modules;
        `behind`: the path that this one goes on from."""
        self.name = name
        self._steps, self._paths, self._plugins = steps, paths, plugins
        self._behind = behind

    @property
    def labels(self) -> list[str]:
        """Labels of its modules, in order, with those of the filters that it begins behind."""
        return [*self._labels_before(), *(step.label for step in self._steps.on_path(self.name))]

    def _labels_before(self) -> list[str]:
        if self._behind is None:
            return []
        before = self._steps.on_path(self._behind.name, until=self.name)
        return [*self._behind._labels_before(), *(s.label for s in before if s.is_filter)]

    def path(self, name: str) -> JobPath:
        """A path that goes on behind the filters that this one has now, which run once for both;
        the same one for the same name."""
        check_label("path.path(…)", "name", check_text("path.path(…)", "name", name))
        if not self._steps.has_path(name):
            self._steps.add("path", name)
        return self._begun(name, self)

    def _begun(self, name: str, behind: JobPath | None) -> JobPath:
        found = self._paths.get(name)
        if found is None:
            found = JobPath(name, self._steps, self._paths, self._plugins, behind)
            self._paths[name] = found
        if found._behind is not behind:
            begins = f'behind "{found._behind.name}"' if found._behind else "with all events"
            raise ConfigError(f'path "{name}" begins {begins}; give this one another name')
        return found

    def filter(self, what: Any = None, *, label: str | None = None, **params: Any) -> Any:
        """Accepts or refuses events. `what`: an expression, "nMuon >= 2"; or a function of the
        events, which gives (n_events,) bool. As a decorator with and without `params`, which
        the function gets as keywords. Gives the path; for a function with a name the function."""
        check_texts("job.filter(…)", label=label)
        if what is None:
            return functools.partial(self.filter, label=label, **params)
        check_what(_call("filter", label), what, base="Filter")
        step = Step("filter", label or "", what, params, is_filter=True)
        self._add(step if label else self._numbered(step), on_path=True)
        return self if isinstance(what, str) or _is_lambda(what) else what

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
        """Adds a module in C++: add("cpp:Trijet", pt_min=30.0), of a library that `job.plugins`
        names, configure(job={"plugins": ["./libmine.so", "forkrun_modules"]}). `label`:
        its class, if not given; `params`: its parameters; others as in [[modules]]. A filter or
        analyzer is on this path; what a producer makes is a column like others."""
        call = check_text("job.add(…)", "what", what)
        if not what.startswith("cpp:") or not what.removeprefix("cpp:"):
            raise ConfigError(f'job.add("{call}", …): give a class in C++, "cpp:CLASS"')
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

    def define(self, name: Any = None, what: Any = None, **params: Any) -> Any:
        """Makes a column. `what`: an expression, or a function of the events that gives its
        values. As a decorator: the column has the function's name."""
        return self._column("define", name, what, params, {})

    def redefine(
        self, name: Any = None, what: Any = None, *, on_data: bool = False, **params: Any
    ) -> Any:
        """Replaces a column: all that is added to the job from here on sees the new one, and
        `NAME@input` is the old one. As `define`: redefine("Jet_pt", "1.02 * Jet_pt"), or as a
        decorator of a function with the column's name. Datasets with `is_data` keep the old column,
        unless `on_data`."""
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
        """Systematic variations of a column: vary("Jet_pt", "jes", up="1.02 * Jet_pt",
        down="0.98 * Jet_pt") makes jes_up and jes_down, each an expression or a function of the
        events; of several columns a function that gives a dict. What is added from here on,
        and depends on them, runs again for each, and histograms get an axis `variation`. Datasets
        with `is_data` have the nominal columns in all of them, unless `on_data`."""
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

    def producer(self, what: Any = None, *, label: str | None = None, **params: Any) -> Any:
        """Makes columns: a function of the events that gives a dict of them, or a class
        derived from forkrun.Producer. As a decorator with and without `params`. It may have
        `replaces=("Jet_pt",)` and `variations={"jes": ("up", "down")}`, which it tells apart by
        `events.variation`."""
        check_texts("job.producer(…)", label=label)
        if what is None:
            return functools.partial(self.producer, label=label, **params)
        check_module(_call("producer", label), what, "Producer")
        self._add(Step("producer", label or _name(what), what, params))
        return what

    def analyzer(self, what: Any = None, *, label: str | None = None, **given: Any) -> Any:
        """Fills histograms: a function of the events, or a class derived from
        forkrun.Analyzer. As a decorator: `@job.analyzer(pt=hist.Hist(…))` books the histogram and
        gives it to the function as its parameter `pt`; other keywords are parameters as well."""
        check_texts("job.analyzer(…)", label=label)
        if what is None:
            return functools.partial(self.analyzer, label=label, **given)
        check_module(_call("analyzer", label), what, "Analyzer")
        histograms = {key: value for key, value in given.items() if _is_histogram(value)}
        params = {key: value for key, value in given.items() if key not in histograms}
        step = Step("analyzer", label or _name(what), what, params, histograms=histograms)
        self._add(step, on_path=True)
        return what

    def hist(self, what: Any, *axes: Axis, name: str | None = None, weight: Any = None) -> Any:
        """Fills a histogram. `what`: an expression, or a function of the events that are left,
        which gives one value or any number per event, or a tuple for several axes. `name`: if
        not given, that of the function or of the column. `weight`: an expression, a function or a
        number: one per event, or one per value.
        As a decorator of a function: `@job.hist((50, 0, 200))`. In the file it is hist_NAME/NAME;
        of other paths than the job's own PATH_NAME/NAME."""
        check_texts("job.hist(…)", name=name)
        weight = check_weight(_call("hist", name or what), weight)
        if is_axis(what):
            check_axes(_call("hist", name), [what, *axes])
            return _decorator(self.hist, what, *axes, name=name, weight=weight)
        check_what("job.hist(…)", what)
        name = name or _name(what)
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
        """Writes the events that the path leaves. `keys`: of [[outputs]], such as keep and drop."""
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
        """A new column, or one made anew. `own`: arguments that only the latter has."""
        call = functools.partial(getattr(self, method), **own, **params)
        if name is None:
            return _decorator(call)
        if is_function(name) and what is None:
            call(_name(name), name)
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
        """One of several versions of a column, with a label of its own."""
        if label := self._steps.same(_with_plain_params(step), ""):
            return replace(step, label=label)
        numbered = (f"{step.label}{number}" for number in range(2, len(self._steps) + 3))
        labels = [step.label, *numbered]
        return replace(step, label=next(each for each in labels if each not in self._steps))

    def _numbered(self, step: Step) -> Step:
        """A filter with a name, which has none of its own."""
        if not isinstance(step.what, str) and name_of(step.what).isidentifier():
            return replace(step, label=name_of(step.what))
        if label := self._steps.same(_with_plain_params(step), self.name):
            return replace(step, label=label)
        number = sum(each.kind == step.kind for each in self._steps.values()) + 1
        number = 1 if self._steps.is_again else number
        labels = (f"{step.kind}{each}" for each in range(number, number + len(self._steps) + 2))
        return replace(step, label=next(each for each in labels if each not in self._steps))


def _decorator(call: Callable[..., Any], *given: Any, **keys: Any) -> Callable[[Any], Any]:
    """Has a call add the function, with these arguments behind it, and leaves it as it is."""

    def over(function: Any) -> Any:
        call(function, *given, **keys)
        return function

    return over


def _is_lambda(what: Any) -> bool:
    """Whether it cannot be what a decorator is over."""
    return getattr(what, "__name__", "") == "<lambda>"


def _name(what: Any) -> str:
    name = what if isinstance(what, str) else name_of(what)
    if not name.isidentifier():
        raise ConfigError(f'{what!r} has no name; give it one: name="…" or label="…"')
    return name


def _with_plain_params(step: Step) -> Step:
    """Raises ConfigError for what a configuration cannot hold."""
    kind = {"histogram": "hist"}.get(step.kind, step.kind)
    call = _call(kind, step.label)
    params = {k: plain_value(call, k, value, is_finite=True) for k, value in step.params.items()}
    return replace(step, params=params)


def _call(method: str, name: Any) -> str:
    """A call as messages name it."""
    return f'job.{method}("{name}", …)' if isinstance(name, str) else f"job.{method}(…)"


def _is_histogram(value: Any) -> bool:
    return not isinstance(value, Mapping) and not inspect.isclass(value) and hasattr(value, "fill")
