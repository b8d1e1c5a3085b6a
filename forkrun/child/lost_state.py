"""What modules keep in a child, and nobody gets: numbers that count and containers that grow, in
attributes of the module and in globals of its file. They are compared with what they were when the
child began."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from numbers import Number
from typing import TYPE_CHECKING, Any

from forkrun.base.user_code import program_names

if TYPE_CHECKING:  # slow to load, and modules in C++ do not need it
    from forkrun.modules.base import Module
import hashlib
import pickle
from types import ModuleType

State = dict[tuple[str, str], Any]
"""By label of the module and name of the variable: a number, the length of a container, or a
digest of a generator of random numbers."""
_ANY = ""
"""Instead of a label: any module."""

_CONTAINERS = (list, dict, set, bytearray)

_ENDS = ("end_job", "end_run", "end_lumi", "end_iov")
"""A module with one of these does something with what it keeps, in the child."""


def states_of(modules: Mapping[str, Any]) -> State:
    """What modules in Python, by label, keep now."""
    states: State = {}
    for label, module in modules.items():
        _add_generators(states, label, "self.", vars(module.module))
        own = _globals_of(module.module)
        _add_generators(states, label, "the global ", own)
        if not any(hasattr(module.module, end) for end in _ENDS):
            _add_countable(states, label, "self.", vars(module.module))
            _add_countable(states, label, "the global ", own)
    for name, state in states_of_process() if modules else ():
        states[_ANY, name] = state
    return states


def _add_generators(states: State, label: str, prefix: str, variables: Mapping[str, Any]) -> None:
    for name, state in generator_states(variables):
        states[label, prefix + name] = state


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
                    " children; use block.random, whose numbers belong to events"
                )
                continue
            yield (
                f'module "{label}": {name} changed in children, each in its own copy, and'
                " these changes are lost; an analyzer's self.accumulate(…) adds up over children"
            )


def _globals_of(module: Module) -> Mapping[str, Any]:
    """Globals of the file of a user's module."""
    home = type(module).__module__
    is_own = home.startswith("forkrun_user_") or home in program_names.values()
    return vars(sys.modules[home]) if is_own and home in sys.modules else {}


def _add_countable(states: State, label: str, prefix: str, variables: Mapping[str, Any]) -> None:
    """Names that begin with _ are a module's own affair, such as caches."""
    for name, value in variables.items():
        if name[:1] == "_" or isinstance(value, bool):
            continue
        if isinstance(value, Number):
            states[label, prefix + name] = value
        elif isinstance(value, _CONTAINERS):
            states[label, prefix + name] = len(value)


_MOST = 64
"""Number of elements of a container that are looked at."""
_OF_PROCESS = {"random": "getstate", "numpy.random": "get_state"}
"""Modules that have a generator for all, and how it tells its state."""


def generator_states(variables: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Name and state of each generator among variables, in their containers and attributes."""
    for name, value in variables.items():
        for place, inner in _inside(name, value):
            if (state := _state_of(inner)) is not None:
                yield place, state


def states_of_process() -> Iterator[tuple[str, bytes]]:
    """States of the generators that `random.…()` and `np.random.…()` draw from."""
    for name, method in _OF_PROCESS.items():
        if name in sys.modules:
            yield name, _digest(getattr(sys.modules[name], method)())


def _inside(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    yield name, value
    if isinstance(value, ModuleType | type) or _tells_state(value):
        return
    if isinstance(value, list | tuple):
        yield from ((f"{name}[{n}]", each) for n, each in enumerate(value[:_MOST]))
    elif isinstance(value, dict):
        if len(value) <= _MOST:
            yield from ((f"{name}[{key!r}]", each) for key, each in value.items())
    elif isinstance(inner := getattr(value, "__dict__", None), dict) and len(inner) <= _MOST:
        yield from ((f"{name}.{key}", each) for key, each in inner.items())


def _tells_state(value: Any) -> bool:
    kind = type(value)
    return any(hasattr(kind, name) for name in ("bit_generator", "getstate", "get_state"))


def _state_of(value: Any) -> bytes | None:
    """As generators of NumPy, of Python and of libraries like torch tell it; None of all else."""
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
