"""Calls modules with the first events, to find their reads and products."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from forkrun.base.user_code import lines_in_user_code
from forkrun.config.modules import NOMINAL
from forkrun.errors import ConfigError, ForkrunError, InputError, JobError
from forkrun.fork.failure import to_record
from forkrun.formats.column_types import ColumnType
from forkrun.formats.plain import Plain
from forkrun.modules.columns import spread
from forkrun.modules.late_imports import new_modules
from forkrun.modules.objects.collections import (
    Columns,
    NoSuchColumnError,
    NoSuchNameError,
)
from forkrun.modules.objects.reading import ModuleColumns
from forkrun.modules.python_module import METHODS, MODULE_CALLBACKS, PythonModule
from forkrun.modules.returned import column_type, columns_of, decision_of, dict_of
from forkrun.schedule.trial.block import NotingColumns, TrialBlock
from forkrun.schedule.trial.cpp import CppModules
from forkrun.schedule.trial.first_events import FirstEvents
from forkrun.schedule.versions import Versions, plain_name

Flags = npt.NDArray[np.bool_]


class Finding(Struct, frozen=True):
    """Facts about a module after a call: columns read, types of columns made; `imports`: Python
    imports during the call; `is_partial`: found with events that it may not get; `error`: why it
    could not be called; `is_name`: because it uses an unknown name; `refusal`: an error that names
    its own cause."""

    label: str
    reads: Sequence[str] = ()
    produces: Mapping[str, str] | None = None
    imports: Sequence[str] = ()
    is_partial: bool = False
    error: str = ""
    is_name: bool = False
    refusal: Mapping[str, Any] | None = None

    def joined(self, before: Finding | None) -> Finding:
        """Combines this with the finding `before`, from fewer or other events."""
        if before is None or (before.is_partial and not self.is_partial):
            return self
        if self.is_partial and not before.is_partial:
            return before
        reads = list(dict.fromkeys((*before.reads, *self.reads)))
        imports = list(dict.fromkeys((*before.imports, *self.imports)))
        return replace(self, reads=reads, imports=imports)


class Trial:
    """`modules`: all in Python, in configuration order; `paths`: labels by path; `cpp`: C++
    modules, called if others read their columns; `versions`: of columns; `known`: columns of the
    input and of C++ modules; `say` receives findings, `enter` the label of the module being called,
    "" for none; `with_callbacks`: callbacks before the first block have been called; `imported`:
    modules imported before."""

    def __init__(
        self,
        modules: Mapping[str, PythonModule],
        paths: Mapping[str, Sequence[str]],
        cpp: CppModules,
        versions: Versions,
        known: Columns,
        events: FirstEvents,
        iov: int,
        say: Callable[[Finding], None],
        enter: Callable[[str], None],
        with_callbacks: bool,
        imported: Iterable[str],
    ) -> None:
        self._modules, self._paths = modules, paths
        self._cpp, self._versions = cpp, versions
        self._events, self._iov, self._say, self._enter = events, iov, say, enter
        self._everything = np.ones(len(events), dtype=bool)
        self._calls = [""]
        self._found_types: dict[str, Mapping[str, str]] = {}
        self._columns: dict[str, Plain] = {}
        self._maker = {
            versions.made(label, name): label
            for label, m in modules.items()
            for name in (*m.produces, *m.replaces)
        }
        self._types = {**events.types, **cpp.types}
        self._made = set[str]()
        for module in modules.values():
            self._types |= module.produces
            self._made |= module.produces.keys()
        self._known = known.with_types(self._types)
        self._left, self._is_exact = self._everything, True
        """Events left by a path, and whether the job leaves exactly these."""
        self._is_reached = True
        self._made_for: dict[str, Flags] = {}
        self._failed: dict[str, TrialFailed] = {}
        self._masks: dict[str, tuple[Flags, Flags]] = {}
        self._with_callbacks = with_callbacks
        self._imported = {*imported}

    def run(self, *, force: bool) -> bool:
        """Whether every module that needs a call got one with events that reach it. `force`: others
        are called with all events, for partial findings. Raises TrialFailed."""
        try:
            ends = [self._run_path(labels, force) for labels in self._paths.values()]
            for label in self._undeclared("producer"):
                if label not in self._made_for:
                    self._make_for_one(label, ends, force)
            self._left, self._is_exact = self._everything, True
            named = {label for labels in self._paths.values() for label in labels}
            for label in (*self._undeclared("filter"), *self._undeclared("analyzer")):
                if label not in named:
                    self._call(label)
            return self._is_reached
        except TrialFailed as failed:
            self._say(failed.finding)
            raise
        finally:
            for label, types in self._found_types.items():  # the next trial may find others
                self._modules[label].produces = dict(types)

    def _undeclared(self, kind: str) -> list[str]:
        return [label for label, m in self._modules.items() if m.kind == kind and not m.is_declared]

    def _make_missing(self, error: Exception) -> bool:
        """Calls producers with unknown products, because of an unknown name: those that mention it,
        or else all. Returns whether any has made something."""
        missing = set(re.findall(r'"(\w+)', str(error)))
        waiting = [each for each in self._undeclared("producer") if each not in self._made_for]
        likely = [each for each in waiting if missing & {each, *self._modules[each].names()}]
        made = [self._can_make(label) for label in likely or waiting]
        return any(made)

    def _make_mentioned(self, module: PythonModule) -> None:
        """Calls producers whose label, or whose collection, is named in a module's code."""
        names = module.names()
        for label in self._undeclared("producer"):
            is_named = label in names or any(label.startswith(f"{name}_") for name in names)
            if label not in self._made_for and is_named:
                self._can_make(label)

    def _can_make(self, label: str) -> bool:
        try:
            self._make(label)
        except TrialFailed as error:  # it may only be needed after more filters
            if error.finding.refusal:
                raise
            self._failed[label] = error
        return label in self._made_for

    def _make_for_one(self, label: str, ends: Sequence[Flags], force: bool) -> None:
        """Calls a producer that no path has requested: an output may request it, and sees the
        events left by one of the paths."""
        reached = [left for left in ends if left.any()] if ends else [self._everything]
        self._is_reached = self._is_reached and bool(reached)
        for left in reached or ([ends[0]] if force else []):
            self._left, self._is_exact = left, True
            if self._can_make(label):
                return
        if reached:
            raise self._failed[label]

    def _run_path(self, labels: Sequence[str], force: bool) -> Flags:
        """Returns the events that the path leaves."""
        self._left, self._is_exact = self._everything, True
        wanted = [label for label in labels if self._is_wanted(label)]
        needs_all = bool(self._undeclared("producer"))
        for label in labels if wanted or needs_all else ():
            module = self._modules.get(label)
            if not self._left.any():
                self._is_reached = self._is_reached and not self._is_wanted(label)
                if not force:
                    continue
            if module is None:
                self._is_exact = False  # a C++ module: its decisions are unknown
            elif module.kind == "filter":
                self._left = self._left & self._accepted(label)
            elif self._is_wanted(label):
                self._call(label)
            if not needs_all and label == wanted[-1]:
                break
        return self._left

    def _is_wanted(self, label: str) -> bool:
        return label in self._modules and not self._modules[label].is_declared

    def _accepted(self, label: str) -> Flags:
        asked, accepted = self._masks.get(label, (~self._everything, self._everything))
        if (self._left & ~asked).any() or label not in self._masks:
            decision = self._call(label)
            if decision is None:
                return self._everything
            asked, accepted = self._masks[label] = self._left, decision.accepted
        return accepted

    def _call(self, label: str) -> Any:
        """Result of the module for the events left, or for all events if none are left; None if it
        fails with events that it might not get."""
        module = self._modules[label]
        self._make_mentioned(module)
        is_partial = not self._left.any()
        left = self._everything if is_partial else self._left
        block = TrialBlock(self._events, partial(self._seen, label), left, self._iov)
        reader = NotingColumns(self._known, block, self._made)
        before, module.columns = module.columns, reader
        if module.module.consumes is not None:  # declared: arrays as in the job
            read = frozenset(module.consumes)
            module.columns = ModuleColumns(self._known, read, made=self._made)
        answer, produces = None, None
        try:
            with self._entered(label):
                if (kept := module.unchanged_columns(block)) is not None:
                    self._keep(label, kept, left)
                    return kept
                answer = module.call(METHODS[module.kind], block)
                if module.kind == "producer":
                    produces = self._produces(label, answer, left)
                if module.kind == "filter":
                    answer = module.taken(decision_of, answer, block.n_events).spread(left)
                for variation in module.variations if not module.is_declared else ():
                    module.variation = variation
                    module.call(METHODS[module.kind], block)
        except InputError as error:
            raise _refused(label, error) from None
        except TrialFailed:  # its input cannot be made
            raise
        except Exception as error:
            is_name = isinstance(error, NoSuchColumnError | NoSuchNameError)
            if is_name and self._make_missing(error):
                return self._call(label)
            is_exact = self._is_exact and not is_partial
            if is_exact and len(self._events) and not self._lacks_callbacks(module):
                failed = [each for name, each in self._failed.items() if name not in self._made_for]
                raise (failed[0] if is_name and failed else _failed(label, error)) from None
            if not is_partial:
                return None
        finally:
            module.columns, module.variation = before, module.only_variation or NOMINAL
        if not module.is_declared:
            is_partial |= reader.is_guess
            self._say(Finding(label, reader.touched(), produces, self._imports(), is_partial))
        return answer

    @contextlib.contextmanager
    def _entered(self, label: str) -> Iterator[None]:
        """Marks a module as being called; its reads may cause nested calls."""
        self._calls.append(label)
        self._enter(label)
        try:
            yield
        finally:
            self._calls.pop()
            self._enter(self._calls[-1])

    def _imports(self) -> list[str]:
        """Python imports since the last call."""
        new = new_modules(self._imported)
        self._imported |= {*new}
        return new

    def _lacks_callbacks(self, module: PythonModule) -> bool:
        """Whether the module may fail because its callbacks have not been called."""
        has_some = any(hasattr(module.module, name) for name in MODULE_CALLBACKS)
        return has_some and not self._with_callbacks

    def _keep(self, label: str, columns: Mapping[str, Plain], left: Flags) -> None:
        """Keeps the columns that the module leaves unchanged."""
        types = {**{name: self._types[name] for name in columns}, **self._modules[label].produces}
        for name, column in columns.items():
            of_all = spread(_of_type(column, types[name]), left)
            self._columns[self._versions.made(label, name)] = of_all

    def _produces(self, label: str, answer: Any, left: Flags) -> dict[str, str]:
        module = self._modules[label]
        given = module.taken(dict_of, answer, module.produces)
        types = module.produces or {n: module.taken(self._type, module, n, given[n]) for n in given}
        self._found_types.setdefault(label, module.produces)
        module.produces = dict(types)
        made = module.taken(columns_of, given, types, int(np.count_nonzero(left)))
        for name, column in made.items():
            of_all = spread(_of_type(column, types[name]), left)
            self._columns[self._versions.made(label, name)] = of_all
        self._types |= types
        self._made |= types.keys()
        self._known = self._known.with_types(self._types)
        return dict(types)

    def _type(self, module: PythonModule, name: str, values: Any) -> str:
        """Type of a new column; a replaced column keeps its type."""
        if name in module.replaces and name in self._types:
            return self._types[name]
        return column_type(name, values)

    def _seen(self, label: str, name: str) -> Plain:
        """Returns the column that the module means by this name."""
        return self._column(self._versions.seen(label, name).nominal.product)

    def _make(self, label: str) -> None:
        """Calls a producer with the events left and those of earlier calls, unless it already has
        made these."""
        before, left = self._made_for.get(label, ~self._everything), self._left
        if label in self._made_for and not (left & ~before).any():
            return
        self._made_for[label] = self._left = left | before
        try:
            self._call(label)
        except TrialFailed:
            del self._made_for[label]
            raise
        finally:
            self._left = left

    def _column(self, name: str) -> Plain:
        if maker := self._maker.get(name):
            self._make(maker)
        if name not in self._columns:
            self._find(name)
        return self._columns[name]

    def _find(self, product: str) -> None:
        name = plain_name(product)
        if name in self._events.types and not self._versions.maker(product):
            self._columns[product] = self._events.read(name)
            return
        if labels := self._cpp.makers(name):
            self._call_cpp(labels, product)
            return
        raise NoSuchColumnError(self._known.names_there.missing(name, self._types))

    def _call_cpp(self, labels: Sequence[str], product: str) -> None:
        """Calls the C++ modules that may make this column."""
        for label in labels:
            if product in self._columns:
                return
            reads = {name: self._seen(label, name) for name in self._cpp.wirings[label].reads}
            try:
                with self._entered(label):
                    made = self._cpp.call(label, self._types, reads, self._events, self._iov)
            except JobError as error:
                raise _refused(label, error) from None
            except ConfigError as error:
                raise NoSuchColumnError(
                    f'"{plain_name(product)}" comes from the C++ module "{label}", which cannot be'
                    f" called to find out what others read: {error}; declare it: consumes"
                ) from None
            for name, column in made.items():
                self._columns[self._versions.made(label, name)] = column


def _of_type(column: Plain, kind: str) -> Plain:
    """A plain column, converted as in the core."""
    dtype = ColumnType.of(kind).dtype
    if isinstance(column, tuple):
        return *column[:-1], np.asarray(column[-1]).astype(dtype, copy=False)
    return np.asarray(column).astype(dtype, copy=False)


class TrialFailed(Exception):  # noqa: N818 - what has failed is said
    """A module has failed with the first events, or the input is invalid."""

    def __init__(self, finding: Finding) -> None:
        self.finding = finding


def _refused(label: str, error: ForkrunError) -> TrialFailed:
    return TrialFailed(Finding(label, refusal=to_record(error)))


def _failed(label: str, error: Exception) -> TrialFailed:
    is_name = isinstance(error, NoSuchColumnError | NoSuchNameError)
    text = str(error) if is_name else f"{type(error).__name__}: {error}"
    return TrialFailed(Finding(label, error=text + lines_in_user_code(error), is_name=is_name))
