"""Which values of the user's own modules a function or class uses, with a digest of each: what a
job depends on beside its code. A job is resumed only with the same ones."""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import hashlib
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from forkrun.modules.program.code_digest import globals_in, names_in
from forkrun.modules.program.own_modules import names_by_file, own_file

_AS_TEXT = (
    *(int, float, complex, str, bytes, bool, type(None), type(...), PurePath, re.Pattern),
    *(enum.Enum, fractions.Fraction, decimal.Decimal, datetime.date, np.generic, np.dtype),
)


def used_values(*functions: Any) -> dict[str, str]:
    """Digests, by `FILE.py:NAME`, of the values that functions and classes use; the same in any
    process, as far as values can be looked into."""
    found: dict[str, str] = {}
    for each in functions:
        _look(each, frozenset(), "", found, set())
    return found


def of_program(kind: str) -> list[Any]:
    """The function or class of `python:FILE.py:NAME` or `python:package.module:NAME` in
    [[modules]]; none if the running program has not imported that module."""
    home, _, name = kind.removeprefix("python:").rpartition(":")
    if home.endswith(".py"):
        home = names_by_file().get(os.path.realpath(home), "")
    found = getattr(sys.modules.get(home), name, None)
    return [] if found is None else [found]


def _look(
    what: Any, names: frozenset[str], key: str, found: dict[str, str], seen: set[int]
) -> None:
    """`names`: that the code uses which has led here."""
    what = getattr(what, "__func__", what)
    what = getattr(what, "__wrapped__", what)
    if isinstance(what, ModuleType | FunctionType | type):
        if id(what) not in seen or isinstance(what, ModuleType):
            seen.add(id(what))
            for name, value, inner, place in _inside(what, names):
                _look(value, inner, place and f"{place}:{name}", found, seen)
    elif key and not callable(what):
        found[key] = hashlib.sha256("\0".join(_texts(what, ())).encode()).hexdigest()


def _inside(what: Any, names: frozenset[str]) -> Iterator[tuple[str, Any, frozenset[str], str]]:
    """Name and value of what is used, the names used there, and the file that it is of."""
    if isinstance(what, ModuleType):
        if file := own_file(what.__name__):
            for name in sorted(names & vars(what).keys()):
                yield name, getattr(what, name), names - {name}, file
        return
    file = own_file(what.__module__ or "") or ""
    if isinstance(what, FunctionType):
        used = frozenset(names_in(what.__code__))
        for name in sorted(globals_in(what.__code__) & what.__globals__.keys()):
            yield name, what.__globals__[name], used, file
        for cell in what.__closure__ or ():
            yield "", getattr(cell, "cell_contents", None), frozenset(), ""
        for name, value in vars(what).items():
            yield f"{what.__qualname__}.{name}", value, frozenset(), file
    elif file or what.__module__ == "__main__":
        for name, value in vars(what).items():
            if not (name.startswith("__") and not callable(value)):
                yield f"{what.__qualname__}.{name}", value, frozenset(), file


def _texts(value: Any, outer: tuple[int, ...]) -> Iterator[str]:
    yield type(value).__qualname__
    if id(value) in outer:
        return
    outer = (*outer, id(value))
    if isinstance(value, _AS_TEXT):
        yield repr(value)
    elif isinstance(value, Mapping):
        for key, item in list(value.items()):
            yield from _texts(key, outer)
            yield from _texts(item, outer)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item, outer)
    elif isinstance(value, set | frozenset):
        yield from sorted(" ".join(_texts(item, outer)) for item in value)
    elif isinstance(value, np.ndarray) and value.dtype != object:
        yield f"{value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    elif isinstance(value, FunctionType):
        yield value.__code__.co_code.hex()
    elif own_file(type(value).__module__) and hasattr(value, "__dict__"):
        yield from _texts(vars(value), outer)


def differing(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Names whose values are others."""
    return [name for name, digest in before.items() if now.get(name) != digest]
