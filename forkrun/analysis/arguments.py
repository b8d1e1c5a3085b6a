"""Arguments of a job's calls: invalid ones are refused by the call itself."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from forkrun.base.arguments import refused
from forkrun.base.user_code import unpartial

AXIS = "(bins, low, high), an axis of hist, or a dict as in [[modules.axes]]"


def is_function(value: Any) -> bool:
    """Whether the value can be called with events; classes do not count."""
    return callable(value) and not inspect.isclass(value)


def check_what(call: str, value: Any, argument: str = "what", base: str = "") -> None:
    """Checks an expression or a function. `base`: name of the base class for classes."""
    if isinstance(value, str) or is_function(value) or (base and _is_derived(value, base)):
        return
    kinds = f", a function or a class derived from forkrun.{base}" if base else " or a function"
    raise refused(call, argument, f"an expression{kinds}", value)


def check_module(call: str, value: Any, base: str) -> None:
    """Checks a function, or a class derived from `base`."""
    if not is_function(value) and not _is_derived(value, base):
        allowed = f"a function or a class derived from forkrun.{base}"
        raise refused(call, "what", allowed, value)


def _is_derived(value: Any, base: str) -> bool:
    import forkrun  # imported already if the class is derived from one of its classes

    return inspect.isclass(value) and issubclass(value, getattr(forkrun, base))


def check_weight(call: str, value: Any) -> Any:
    """The weight of a histogram in the form for steps. Raises ConfigError."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if is_number and math.isfinite(value):
        return int(value) if isinstance(value, int) else float(value)
    if value is None or isinstance(value, str) or is_function(value):
        return value
    raise refused(call, "weight", "an expression, a function or a finite number", value)


def check_axes(call: str, axes: Sequence[Any]) -> None:
    """Raises ConfigError for values that are not axes; invalid axes are reported later."""
    for number, axis in enumerate(axes):
        if not is_axis(axis):
            raise refused(call, f"axis {number + 1}", AXIS, axis)


def is_axis(value: Any) -> bool:
    """Whether the value describes an axis, valid or not."""
    if isinstance(value, tuple | list):
        return all(isinstance(number, Real) for number in value)
    return isinstance(value, Mapping) or hasattr(value, "traits")


def name_of(what: Any) -> str:
    """Name of a function or class, or of the function in a `functools.partial`; "" without one."""
    return str(getattr(unpartial(what), "__name__", ""))
