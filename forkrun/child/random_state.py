"""Generators of random numbers that modules keep: each child has a copy that begins alike."""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

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
