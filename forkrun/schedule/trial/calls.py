"""Calls modules with the first events, to find out what they read and make."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

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
from forkrun.modules.late_imports import new_modules
from forkrun.modules.objects.collections import (
    Columns,
    NoSuchColumnError,
    NoSuchNameError,
)
from forkrun.modules.objects.reading import ModuleColumns
from forkrun.modules.python_module import METHODS, MODULE_CALLBACKS, PythonModule
from forkrun.modules.returned import columns_of, decision_of, dict_of
from forkrun.modules.returned_lists import column_type
from forkrun.schedule.trial.block import NotingColumns, TrialBlock
from forkrun.schedule.trial.cpp import CppModules
from forkrun.schedule.trial.first_events import FirstEvents
from forkrun.schedule.versions import Versions, plain_name

Flags = npt.NDArray[np.bool_]


class Finding(Struct, frozen=True):
    """What is known of a module after it was called: columns that it reads, types of those that it
    makes; `imports`: what Python has imported meanwhile; `is_partial`: of events that it may not
    get; `error`: why it could not be called; `is_name`: because it names something that there is
    not; `refusal`: an error that names its cause itself."""

    label: str
    reads: Sequence[str] = ()
    produces: Mapping[str, str] | None = None
    imports: Sequence[str] = ()
    is_partial: bool = False
    error: str = ""
    is_name: bool = False
    refusal: Mapping[str, Any] | None = None

    def joined(self, before: Finding | None) -> Finding:
        """This with what was found `before`, with fewer or other events."""
        if before is None or (before.is_partial and not self.is_partial):
            return self
        if self.is_partial and not before.is_partial:
            return before
        reads = list(dict.fromkeys((*before.reads, *self.reads)))
        imports = list(dict.fromkeys((*before.imports, *self.imports)))
        return replace(self, reads=reads, imports=imports)


class Trial:
    """`modules`: all in Python, in the order of the configuration; `paths`: labels by path;
    `cpp`: those in C++, which are called where others read what they make; `versions`: of columns;
    `known`: those of the input and of these; `say` is told what is found, `enter` the label of a
    module that is called now, "" if none is; `with_callbacks`: those before the first block have
    been called; `imported`: what was imported before that."""

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
        for module in modules.values():
            self._types |= module.produces
        self._known = known.with_types(self._types)
        self._called: set[str] = set()
        self._masks: dict[str, Flags] = {}
        self._with_callbacks = with_callbacks
        self._imported = {*imported}

    def run(self, *, force: bool) -> bool:
        """Whether every module that needs it was called with some events that come to it. `force`:
        others are called with all, for what these show of them. Raises TrialFailed."""
        try:
            for label in self._undeclared("producer"):
                self._make(label)
            reached = [self._run_path(labels, force) for labels in self._paths.values()]
            named = {label for labels in self._paths.values() for label in labels}
            for label in (*self._undeclared("filter"), *self._undeclared("analyzer")):
                if label not in named:
                    self._call(label, self._everything)
            return all(reached)
        finally:
            for label, types in self._found_types.items():  # the next trial may find others
                self._modules[label].produces = dict(types)

    def _undeclared(self, kind: str) -> list[str]:
        return [label for label, m in self._modules.items() if m.kind == kind and not m.is_declared]

    def _run_path(self, labels: Sequence[str], force: bool) -> bool:
        left, is_exact = self._everything, True
        wanted = [label for label in labels if self._is_wanted(label)]
        for label in labels if wanted else ():
            module = self._modules.get(label)
            if module is None:
                is_exact = False  # a module in C++: what it leaves is not known
            elif module.kind == "filter":
                left = left & self._accepted(label, is_exact)
            elif self._is_wanted(label) and left.any():
                self._call(label, left, is_exact)
            elif self._is_wanted(label) and force:
                self._call(label, self._everything, is_exact=False, is_partial=True)
            if label == wanted[-1]:
                break
        return not wanted or bool(left.any())

    def _is_wanted(self, label: str) -> bool:
        return label in self._modules and not self._modules[label].is_declared

    def _accepted(self, label: str, is_exact: bool) -> Flags:
        if label not in self._masks:
            decision = self._call(label, self._everything, is_exact)
            if decision is None:
                return self._everything
            self._masks[label] = decision.accepted
        return self._masks[label]

    def _call(
        self, label: str, mask: Flags, is_exact: bool = True, is_partial: bool = False
    ) -> Any:
        """What the module gives; None if it fails with events that it might not get."""
        module = self._modules[label]
        block = TrialBlock(self._events, partial(self._seen, label), mask, self._iov)
        reader = NotingColumns(self._known, block)
        before, module.columns = module.columns, reader
        if module.module.consumes is not None:  # nothing is to be found out: arrays as in the job
            module.columns = ModuleColumns(self._known, frozenset(module.consumes))
        answer, produces = None, None
        try:
            with self._entered(label):
                if (kept := module.left_alone(block)) is not None:
                    self._keep(label, kept)
                    return kept
                answer = module.call(METHODS[module.kind], block)
                produces = self._produces(label, answer) if module.kind == "producer" else None
                if module.kind == "filter":
                    answer = module.taken(decision_of, answer, len(self._events))
                for variation in module.variations if not module.is_declared else ():
                    module.variation = variation
                    module.call(METHODS[module.kind], block)
        except InputError as error:
            self._refuse(label, error)
        except Exception as error:
            if is_exact and len(self._events) and not self._lacks_callbacks(module):
                self._fail(label, error)
            if not is_partial:
                return None
        finally:
            module.columns, module.variation = before, module.only_variation or NOMINAL
        if not module.is_declared:
            self._say(Finding(label, reader.touched(), produces, self._imports(), is_partial))
        return answer

    @contextlib.contextmanager
    def _entered(self, label: str) -> Iterator[None]:
        """While a module is called, which may have others called for what it reads."""
        self._calls.append(label)
        self._enter(label)
        try:
            yield
        finally:
            self._calls.pop()
            self._enter(self._calls[-1])

    def _refuse(self, label: str, error: ForkrunError) -> NoReturn:
        self._say(Finding(label, refusal=to_record(error)))
        raise TrialFailed from None

    def _imports(self) -> list[str]:
        """What Python has imported since this was last asked."""
        new = new_modules(self._imported)
        self._imported |= {*new}
        return new

    def _lacks_callbacks(self, module: PythonModule) -> bool:
        """Whether it may fail because its callbacks have not been called."""
        has_some = any(hasattr(module.module, name) for name in MODULE_CALLBACKS)
        return has_some and not self._with_callbacks

    def _fail(self, label: str, error: Exception) -> NoReturn:
        if isinstance(error, TrialFailed):  # what it reads cannot be made, which was said
            raise error
        is_name = isinstance(error, NoSuchColumnError | NoSuchNameError)
        text = str(error) if is_name else f"{type(error).__name__}: {error}"
        self._say(Finding(label, error=text + lines_in_user_code(error), is_name=is_name))
        raise TrialFailed from None

    def _keep(self, label: str, columns: Mapping[str, Plain]) -> None:
        """Has what the module leaves as it is."""
        types = {**{name: self._types[name] for name in columns}, **self._modules[label].produces}
        for name, column in columns.items():
            self._columns[self._versions.made(label, name)] = _of_type(column, types[name])

    def _produces(self, label: str, answer: Any) -> dict[str, str]:
        module = self._modules[label]
        given = module.taken(dict_of, answer, module.produces)
        types = module.produces or {n: module.taken(self._type, module, n, given[n]) for n in given}
        self._found_types.setdefault(label, module.produces)
        module.produces = dict(types)
        made = module.taken(columns_of, given, types, len(self._events))
        for name, column in made.items():
            self._columns[self._versions.made(label, name)] = _of_type(column, types[name])
        self._types |= types
        self._known = self._known.with_types(self._types)
        return dict(types)

    def _type(self, module: PythonModule, name: str, values: Any) -> str:
        """A column keeps its type when it is replaced."""
        if name in module.replaces and name in self._types:
            return self._types[name]
        return column_type(name, values)

    def _seen(self, label: str, name: str) -> Plain:
        """What the module means by this name."""
        return self._column(self._versions.seen(label, name).nominal.product)

    def _make(self, label: str) -> None:
        if label not in self._called:
            self._called.add(label)
            self._call(label, self._everything)

    def _column(self, name: str) -> Plain:
        if name not in self._columns:
            self._find(name)
        return self._columns[name]

    def _find(self, product: str) -> None:
        name = plain_name(product)
        if name in self._events.types and not self._versions.maker(product):
            self._columns[product] = self._events.read(name)
            return
        makers = [self._maker[product]] if product in self._maker else self._undeclared("producer")
        for label in makers:
            self._make(label)
            if product in self._columns:
                return
        if labels := self._cpp.makers(name):
            self._call_cpp(labels, product)
            return
        raise NoSuchColumnError(self._known.names_there.missing(name, self._types))

    def _call_cpp(self, labels: Sequence[str], product: str) -> None:
        """Calls the modules in C++ that may make this column."""
        for label in labels:
            if product in self._columns:
                return
            reads = {name: self._seen(label, name) for name in self._cpp.wirings[label].reads}
            try:
                with self._entered(label):
                    made = self._cpp.call(label, self._types, reads, self._events, self._iov)
            except JobError as error:
                self._refuse(label, error)
            except ConfigError as error:
                raise NoSuchColumnError(
                    f'"{plain_name(product)}" comes from the C++ module "{label}", which cannot be'
                    f" called to find out what others read: {error}; declare it: consumes"
                ) from None
            for name, column in made.items():
                self._columns[self._versions.made(label, name)] = column


def _of_type(column: Plain, kind: str) -> Plain:
    """A plain column, as the core converts it."""
    dtype = ColumnType.of(kind).dtype
    if isinstance(column, tuple):
        return *column[:-1], np.asarray(column[-1]).astype(dtype, copy=False)
    return np.asarray(column).astype(dtype, copy=False)


class TrialFailed(Exception):  # noqa: N818 - what has failed was said
    """A module has failed with the first events."""
