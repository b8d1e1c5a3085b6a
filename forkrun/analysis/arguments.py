"""Arguments of a job's calls: invalid ones are refused by the call itself."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from forkrun.base.arguments import refused
from forkrun.base.user_code import unpartial
from forkrun.errors import ConfigError

AXIS = "(bins, low, high), an axis of hist, or a dict as in [[modules.axes]]"


def is_function(value: Any) -> bool:
    """Whether the value can be called with events; classes do not count."""
    return callable(value) and not inspect.isclass(value)


def check_what(call: str, value: Any, argument: str = "what", base: str = "") -> None:
    """Checks an expression or a function. `base`: name of the base class for classes."""
    if not (isinstance(value, str) and value.strip()):
        _check_code(call, argument, value, "an expression" + ("," if base else " or"), base)


def check_module(call: str, value: Any, base: str) -> None:
    """Checks a function, or a class derived from `base`."""
    _check_code(call, "what", value, "", base)


def _check_code(call: str, argument: str, value: Any, before: str, base: str) -> None:
    if not is_function(value) and not (base and base in _bases(value)):
        allowed = f"{before} a function" + (
            f" or a class derived from forkrun.{base}" if base else ""
        )
        raise ConfigError(f"{refused(call, argument, allowed.strip(), value)}{call_for(value)}")


def call_for(value: Any) -> str:
    """Advice about a module in Python given to another call than its own; "" for other values."""
    made = value if inspect.isclass(value) else type(value)
    calls = [f"job.{base.lower()}({made.__name__})" for base in _bases(made)]
    advice = "write" if made is value else "give the class, and its parameters as keywords:"
    return f"; {advice} {calls[0]}" if calls else ""


def _bases(value: Any) -> list[str]:
    import forkrun  # imported already if the class is derived from one of its classes

    names = ("Filter", "Producer", "Analyzer") if inspect.isclass(value) else ()
    return [name for name in names if issubclass(value, getattr(forkrun, name))]


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
