"""Variables that the code of a module can change: attributes of the module, globals used by its
functions, closures, attributes of the user's classes and functions. They are inspected in children,
where changes are lost, and restored after trials, which must leave no change."""

from __future__ import annotations

import contextlib
import copy
import random
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from forkrun.base.user_code import unpartial
from forkrun.modules.base import Module
from forkrun.modules.program.code_uses import names_in
from forkrun.modules.program.own_code import is_library_function, is_own_class, own_file

_CODE = (ModuleType, FunctionType, MethodType, partial, staticmethod, classmethod, property, type)
_MOST_BYTES = 256 << 20
"""Largest amount of data kept for restoring."""
_MOST_INSIDE = 1 << 12
"""Largest size of a container whose elements are inspected."""
_ABSENT = object()


class Variable(NamedTuple):
    """A variable. `space`: globals, attributes or cells that contain it, under `key`; `owner`:
    owner of these; `name`: for people."""

    name: str
    space: MutableMapping[str, Any]
    key: str
    owner: Any

    @property
    def place(self) -> tuple[int, str]:
        """Identity of the variable while its owner lives."""
        return id(self.owner), self.key

    @property
    def value(self) -> Any:
        """Present value; None if there is none."""
        return self.space.get(self.key)


class _Cells(MutableMapping[str, Any]):
    """Closure and defaults of a function, by name."""

    def __init__(self, function: FunctionType) -> None:
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        self._cells = {name: cell for name, cell in cells if _is_filled(cell)}
        code, defaults = function.__code__, function.__defaults__ or ()
        named = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
        self._defaults = dict(zip(named, defaults, strict=True))
        self._defaults |= function.__kwdefaults__ or {}

    def __getitem__(self, name: str) -> Any:
        return self._cells[name].cell_contents if name in self._cells else self._defaults[name]

    def __setitem__(self, name: str, value: Any) -> None:
        if name in self._cells:
            self._cells[name].cell_contents = value

    def __delitem__(self, name: str) -> None:
        """Does nothing: no variable is new."""

    def __iter__(self) -> Iterator[str]:
        return iter({**self._cells, **self._defaults})

    def __len__(self) -> int:
        return len(self._cells.keys() | self._defaults.keys())


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not _ABSENT
    except ValueError:
        return False


class _ClassSpace(MutableMapping[str, Any]):
    """Attributes of a class."""

    def __init__(self, kind: type) -> None:
        self._kind = kind

    def __getitem__(self, name: str) -> Any:
        return vars(self._kind)[name]

    def __setitem__(self, name: str, value: Any) -> None:
        setattr(self._kind, name, value)

    def __delitem__(self, name: str) -> None:
        delattr(self._kind, name)

    def __iter__(self) -> Iterator[str]:
        return iter([*vars(self._kind)])

    def __len__(self) -> int:
        return len(vars(self._kind))


def variables_of(module: Any) -> Iterator[Variable]:
    """Variables of a module that is an object of a class or made of functions; each once."""
    code = [vars(module).get(name) for name in ("function", "weight")]
    given = code if code[0] is not None else [module]
    params = {} if code[0] is None else module.params
    seen: set[tuple[int, str]] = set()
    for each in (
        *(Variable(f"the parameter {name}", params, name, params) for name in params),
        *(each for what in given for each in _object_variables(what)),
        *_variables([type(module), *code], set()),
    ):
        if each.place not in seen:
            seen.add(each.place)
            yield each


def _object_variables(what: Any) -> Iterator[Variable]:
    """Attributes of the called object, or of the object whose method is called."""
    what = getattr(unpartial(what), "__self__", unpartial(what))
    own = getattr(what, "__dict__", {}) if not isinstance(what, _CODE) else {}
    if isinstance(what, Module) or is_own_class(type(what)):
        yield from (Variable(f"self.{name}", own, name, own) for name in [*own])


def _variables(todo: list[Any], seen: set[int]) -> Iterator[Variable]:
    """Variables of code, and of everything that it leads to."""
    while todo:
        what = todo.pop()
        if id(what) in seen:
            continue
        seen.add(id(what))
        for found in _spaces(what, todo):
            if found.key.startswith("__"):
                continue
            value = found.value
            if isinstance(value, _CODE) or is_own_class(type(value)):
                todo.append(value)
            if not isinstance(value, _CODE):
                yield found


def _spaces(what: Any, todo: list[Any]) -> Iterator[Variable]:
    if isinstance(what, FunctionType) and not is_library_function(what):
        yield from _function_variables(what, todo)
    elif isinstance(what, partial):
        todo += [what.func, *what.args, *what.keywords.values()]
    elif isinstance(what, MethodType):
        todo += [what.__func__, what.__self__]
    elif isinstance(what, staticmethod | classmethod):
        todo.append(what.__func__)
    elif isinstance(what, property):
        todo += [what.fget, what.fset]
    elif isinstance(what, type) and is_own_class(what):
        todo += what.__bases__
        space = _ClassSpace(what)
        yield from (Variable(f"{what.__name__}.{name}", space, name, what) for name in space)
    elif is_own_class(type(what)):
        todo.append(type(what))
    elif wrapped := getattr(what, "__wrapped__", None):
        todo.append(wrapped)


def _function_variables(function: FunctionType, todo: list[Any]) -> Iterator[Variable]:
    name = function.__name__
    own, attributes = _Cells(function), vars(function)
    yield from (Variable(f"{key} of {name}()", own, key, function) for key in own)
    names = sorted(names_in(function.__code__))  # attributes as well: absent ones are None
    keys = {**attributes, **dict.fromkeys(names)}
    yield from (Variable(f"{name}.{key}", attributes, key, attributes) for key in keys)
    todo.append(attributes.get("__wrapped__"))
    for key in names:
        found = function.__globals__.get(key)
        if not isinstance(found, ModuleType):
            space = function.__globals__
            yield Variable(f"the global {key}", space, key, space)
        elif own_file(found.__name__):
            space = vars(found)
            inner = [each for each in names if each in space]
            yield from (Variable(f"the global {key}.{n}", space, n, space) for n in inner)


# --- restoring ------------------------------------------------------------------------------------


class Budget:
    """Number of bytes that may be kept."""

    def __init__(self) -> None:
        self._n_left = _MOST_BYTES

    def __call__(self, n_bytes: int) -> bool:
        """Whether this many more bytes fit."""
        fits = n_bytes <= self._n_left
        self._n_left -= n_bytes if fits else 0
        return fits


@contextlib.contextmanager
def unchanged(modules: Iterable[Any]) -> Iterator[None]:
    """Restores afterwards what the code of modules may have changed: variables, and the content of
    the objects they refer to, as far as it is Python data, arrays, generators of random numbers or
    objects of the user's own classes."""
    budget = Budget()
    undo: list[Callable[[], None]] = [partial(random.setstate, random.getstate())]
    undo.append(partial(np.random.set_state, np.random.get_state()))
    undo += (u for module in modules for u in _undo_module(module, budget))
    try:
        yield
    finally:
        for each in undo:
            each()


def _undo_module(module: Any, budget: Budget) -> Iterator[Callable[[], None]]:
    booked = module.histograms().values()
    seen = {id(module.module), *(id(each.histogram) for each in booked)}  # cleared separately
    for variable in [*variables_of(module.module)]:
        yield partial(_put, variable, variable.space.get(variable.key, _ABSENT))
        yield from _undo(variable.value, seen, budget)


def _put(variable: Variable, value: Any) -> None:
    if value is _ABSENT:
        variable.space.pop(variable.key, None)
    elif variable.space.get(variable.key, _ABSENT) is not value:
        variable.space[variable.key] = value


def _undo(value: Any, seen: set[int], budget: Budget) -> Iterator[Callable[[], None]]:
    """Functions that restore the present content of an object and of objects it refers to."""
    todo = [value]
    while todo:
        value = todo.pop()
        if id(value) in seen or isinstance(value, _CODE):
            continue
        seen.add(id(value))
        if (restore := _restore_of(value, budget)) is not None:
            yield restore
        if isinstance(value, dict) and len(value) <= _MOST_INSIDE:
            todo += value.values()
        elif isinstance(value, list | tuple | deque) and len(value) <= _MOST_INSIDE:
            todo += value
        elif is_own_class(type(value)):
            todo += getattr(value, "__dict__", {}).values()


def _restore_of(value: Any, budget: Budget) -> Callable[[], None] | None:
    """Function that restores the present content of an object; None if it has none, or too much."""
    if isinstance(value, np.ndarray):
        is_plain = value.flags.writeable and not isinstance(value, np.memmap)
        return partial(_refill, value, value.copy()) if is_plain and budget(value.nbytes) else None
    if isinstance(value, random.Random):
        return partial(value.setstate, value.getstate())
    if hasattr(type(value), "bit_generator"):
        return partial(setattr, value.bit_generator, "state", value.bit_generator.state)
    if hasattr(type(value), "get_state") and hasattr(type(value), "seed"):
        return partial(value.set_state, value.get_state())
    if hasattr(type(value), "_generate_axes_"):  # a histogram
        fits = budget(value.view(flow=True).nbytes)
        return partial(_refill_histogram, value, copy.deepcopy(value)) if fits else None
    if isinstance(value, list | dict | set | bytearray | deque | array):
        return partial(_fill, value, _copied(value)) if budget(8 * len(value)) else None
    if is_own_class(type(value)) and isinstance(getattr(value, "__dict__", None), dict):
        return partial(_fill, vars(value), dict(vars(value)))
    return None


def _copied(value: Any) -> Any:
    for kind in (dict, set, list):
        if isinstance(value, kind):
            return kind(value)
    return copy.copy(value)


def _fill(value: Any, content: Any) -> None:
    """Gives a container the content of another one."""
    if isinstance(value, dict):
        value.clear()
        for key, each in content.items():
            value[key] = each
    elif isinstance(value, set):
        value.clear()
        value.update(content)
    elif isinstance(value, deque):
        value.clear()
        value.extend(content)
    else:
        value[:] = content


def _refill(content: Any, kept: Any) -> None:
    if content.tobytes() != kept.tobytes():
        content[...] = kept


def _refill_histogram(histogram: Any, kept: Any) -> None:
    """Restores a histogram, whose axes may have grown."""
    histogram._hist = kept._hist
    histogram.axes = histogram._generate_axes_()
