"""State that modules keep in a child and that is lost with it: numbers that count, containers that
grow, arrays and histograms, in all that their code can change. They are compared with what they
were when the child began."""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from numbers import Number
from types import ModuleType
from typing import Any

import numpy as np

from forkrun.modules.program.own_code import is_own_class
from forkrun.modules.program.reached import variables_of

State = dict[tuple[str, str], Any]
"""By label of the module and name of the variable: a number, the length of a container, a digest in
digits, or that of a generator of random numbers in bytes."""
_ANY = ""
"""Instead of a label: any module."""

_CONTAINERS = (list, dict, set, bytearray, deque)

_ENDS = ("end_job", "end_run", "end_lumi", "end_iov")
"""A module with one of these does something with what it keeps, in the child."""


def states_of(modules: Mapping[str, Any]) -> State:
    """State of modules in Python, by label, each variable once."""
    states: State = {}
    seen: set[tuple[int, str]] = set()
    for label, module in modules.items():
        counts = not any(hasattr(module.module, end) for end in _ENDS)
        for variable in variables_of(module.module):
            if variable.place in seen:
                continue
            seen.add(variable.place)
            looks = counts and variable.key[:1] != "_"  # such names are a module's own affair
            for name, value, is_data in _inside(variable.name, variable.value):
                if (state := _state_of(value)) is None and looks and is_data:
                    state = _countable(value)
                if state is not None:
                    states[label, name] = state
    for name, generator in states_of_process() if modules else ():
        states[_ANY, name] = generator
    return states


def lost_states(modules: Mapping[str, Any], before: State) -> Iterator[str]:
    """One line for each variable that has changed since."""
    for key, value in states_of(modules).items():
        if key in before and repr(before[key]) != repr(value):  # a NaN is as it was
            label, name = key
            if isinstance(value, bytes):
                who = f'module "{label}": {name}' if label else f"a module draws from {name}, which"
                yield (
                    f"{who} is a generator of random numbers: each child has a copy that begins"
                    " alike, so different events get the same numbers, and others with other"
                    " children; use events.random, whose numbers belong to events"
                )
                continue
            yield (
                f'module "{label}": {name} changed in children, each in its own copy, and'
                " these changes are lost; an analyzer's self.accumulate(…) adds up over children"
            )


def _countable(value: Any) -> Any:
    """A number, the length of a container, a digest of a small array or histogram; None of all
    else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, Number):
        return value
    if isinstance(value, _CONTAINERS):
        return len(value)
    array = value.view(flow=True) if hasattr(type(value), "_generate_axes_") else value
    if isinstance(array, np.ndarray) and array.nbytes <= _MOST_BYTES and array.dtype != object:
        return f"{array.shape} {hashlib.sha1(array.tobytes()).hexdigest()}"
    return None


_MOST_BYTES = 1 << 20
"""The most of an array that is looked at."""
_MOST = 64
"""Number of elements of a container that are looked at."""
_OF_PROCESS = {"random": "getstate", "numpy.random": "get_state"}
"""Modules that have a generator for all, and how it tells its state."""


def states_of_process() -> Iterator[tuple[str, bytes]]:
    """States of the generators that `random.…()` and `np.random.…()` draw from."""
    for name, method in _OF_PROCESS.items():
        if name in sys.modules:
            yield name, _digest(getattr(sys.modules[name], method)())


def _inside(
    name: str, value: Any, is_data: bool = True, depth: int = 2
) -> Iterator[tuple[str, Any, bool]]:
    """The value and what is in it, by name; whether it is data of the user, not of a library."""
    yield name, value, is_data
    if isinstance(value, ModuleType | type) or _tells_state(value) or not depth:
        return
    inner: Iterable[tuple[str, Any]] = ()
    if isinstance(value, list | tuple):
        inner = ((f"{name}[{n}]", each) for n, each in enumerate(value[:_MOST]))
    elif isinstance(value, dict):
        inner = ((f"{name}[{key!r}]", each) for key, each in _few(value))
    elif isinstance(attributes := getattr(value, "__dict__", None), dict):
        is_data = is_data and is_own_class(type(value))
        inner = ((f"{name}.{key}", each) for key, each in _few(attributes) if key[:1] != "_")
    for place, each in inner:
        yield from _inside(place, each, is_data, depth - 1)


def _few(values: dict[Any, Any]) -> list[tuple[Any, Any]]:
    return [*values.items()] if len(values) <= _MOST else []


def _tells_state(value: Any) -> bool:
    kind = type(value)
    return any(hasattr(kind, name) for name in ("bit_generator", "getstate", "get_state"))


def _state_of(value: Any) -> bytes | None:
    """State of a generator of NumPy, of Python or of a library like torch; None of anything
    else."""
    kind = type(value)
    if isinstance(value, ModuleType | type):
        return None
    if hasattr(kind, "bit_generator"):
        return _digest(value.bit_generator.state)
    if hasattr(kind, "getstate") and hasattr(kind, "random"):
        return _digest(value.getstate())
    if hasattr(kind, "get_state") and (hasattr(kind, "seed") or hasattr(kind, "manual_seed")):
        return _digest(value.get_state())
    return None


def _digest(state: Any) -> bytes:
    return hashlib.sha1(pickle.dumps(state)).digest()
