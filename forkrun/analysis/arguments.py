"""What calls of a job take as arguments: each kind is used, or refused when the call is made."""

from __future__ import annotations

import functools
import inspect
import io
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

from forkrun.errors import ConfigError

_MOST_SHOWN = 60
AXIS = "(bins, low, high), an axis of hist, or a dict as in [[modules.axes]]"


def refused(call: str, argument: str, allowed: str, value: Any) -> ConfigError:
    """Says what an argument takes, and what it got. `call`: as in the program."""
    text = repr(value)
    shown = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
    return ConfigError(f"{call}: {argument} takes {allowed}, not {shown} ({type(value).__name__})")


def is_function(value: Any) -> bool:
    """Whether it can be called with a block; a class is none."""
    return callable(value) and not inspect.isclass(value)


def check_what(call: str, value: Any, argument: str = "what", base: str = "") -> None:
    """Of an expression or a function. `base`: name of the class that one may be derived from."""
    if isinstance(value, str) or is_function(value) or (base and _is_derived(value, base)):
        return
    kinds = f", a function or a class derived from forkrun.{base}" if base else " or a function"
    raise refused(call, argument, f"an expression{kinds}", value)


def check_module(call: str, value: Any, base: str) -> None:
    """Of a function, or a class derived from `base`."""
    if not is_function(value) and not _is_derived(value, base):
        allowed = f"a function or a class derived from forkrun.{base}"
        raise refused(call, "what", allowed, value)


def _is_derived(value: Any, base: str) -> bool:
    import forkrun  # has been imported: the class is derived from one of it

    return inspect.isclass(value) and issubclass(value, getattr(forkrun, base))


def check_weight(call: str, value: Any) -> Any:
    """The weight of a histogram as its step keeps it. Raises ConfigError."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if is_number and math.isfinite(value):
        return int(value) if isinstance(value, int) else float(value)
    if value is None or isinstance(value, str) or is_function(value):
        return value
    raise refused(call, "weight", "an expression, a function or a finite number", value)


def check_text(call: str, argument: str, value: Any) -> str:
    """A name. Raises ConfigError."""
    if not isinstance(value, str):
        raise refused(call, argument, "a text", value)
    return value


def check_axes(call: str, axes: Sequence[Any]) -> None:
    """Raises ConfigError for what is no axis at all; what is wrong with one is said later."""
    for number, axis in enumerate(axes):
        if not is_axis(axis):
            raise refused(call, f"axis {number + 1}", AXIS, axis)


def is_axis(value: Any) -> bool:
    """Whether it describes an axis, if not a good one."""
    return isinstance(value, Mapping | tuple | list) or hasattr(value, "traits")


def check_columns(call: str, argument: str, value: Any) -> list[str]:
    """One name of a column or several. Raises ConfigError."""
    names = [value] if isinstance(value, str) else value
    is_list = isinstance(names, Sequence) and not isinstance(names, bytes)
    if not is_list or not names or not all(isinstance(name, str) for name in names):
        raise refused(call, argument, "the name of a column, or a list of names", value)
    return list(names)


def listed_files(call: str, argument: str, value: Any) -> list[str]:
    """Paths, globs and URLs of one or of several. Raises ConfigError."""
    allowed = "a path, glob or URL, or several in their order"
    several = [value] if isinstance(value, str | os.PathLike) else value
    is_unordered = isinstance(several, bytes | io.IOBase | set | frozenset | Mapping)
    if is_unordered or not isinstance(several, Iterable):
        raise refused(call, argument, allowed, value)
    files = []
    for each in several:
        path = os.fspath(each) if isinstance(each, str | os.PathLike) else None
        if not isinstance(path, str):
            raise refused(call, argument, allowed, each)
        files.append(str(path))
    return files


def name_of(what: Any) -> str:
    """The name of a function or class, or of the function that a `functools.partial` calls; ""."""
    while isinstance(what, functools.partial):
        what = what.func
    return str(getattr(what, "__name__", ""))
