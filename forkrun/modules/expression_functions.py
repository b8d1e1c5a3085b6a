"""Functions of expressions, and indices: each is of one event, whatever the others hold."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from forkrun.base.awkward_array import ak, is_awkward
from forkrun.modules.cpp_arithmetic import as_type, at_least_int, integer_type
from forkrun.modules.objects.collections import NoSuchNameError


def _per_event(name: str, of_two: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Over the list of each event. `of_two`: what max(x, y) of several arguments is."""

    def apply(values: Any, *others: Any, **options: Any) -> Any:
        if others and of_two:
            return functools.reduce(of_two, others, values)
        if others:
            raise TypeError(f"{name}() takes one list per event, not {1 + len(others)} arguments")
        if _n_dimensions(values) == 1:
            raise TypeError(f"{name}() is of a list per event, and got one value per event")
        made = getattr(ak, name)(values, axis=1, **options)
        return _signed(made, values) if name == "sum" else made

    return apply


def _signed(total: Any, values: Any) -> Any:
    """A sum of unsigned integers of less than 32 bits, which C++ takes for an int."""
    kind = integer_type(values)
    is_small = kind is not None and kind.kind == "u" and kind.itemsize < np.int32().itemsize
    return as_type(total, np.dtype(np.int64)) if is_small else total


def _of_values(operation: Callable[..., Any], n: int) -> Callable[..., Any]:
    """Function of each value, or of the values of `n` arrays; integers have at least 32 bits. No
    further argument: a function of NumPy would write its values there."""

    def apply(*arguments: Any, **options: Any) -> Any:
        if len(arguments) != n:
            raise TypeError(f"{operation.__name__}() takes {n} values, and got {len(arguments)}")
        return operation(*map(at_least_int, arguments), **options)

    return apply


def _pow(base: Any, exponent: Any) -> Any:
    """Power; of two integers a floating-point number, as in C++."""
    if integer_type(base) is not None and integer_type(exponent) is not None:
        base = 1.0 * at_least_int(base)
    return np.power(base, exponent)


def _n_dimensions(values: Any) -> int:
    return int((values if isinstance(values, np.ndarray) else ak.Array(values)).ndim)


def _of_awkward(name: str, n: int) -> Callable[..., Any]:
    def apply(*arguments: Any, **options: Any) -> Any:
        if len(arguments) != n:
            raise TypeError(f"{name}() takes {n} arguments, and got {len(arguments)}")
        plain = [a.item() if isinstance(a, np.generic) else a for a in arguments]
        return getattr(ak, name)(*plain, **options)

    return apply


OF_AWKWARD = {"where": 3, "fill_none": 2, "is_none": 1}
"""Functions that are the library's own, by the number of their arguments."""
_LISTS = {
    **{name: _per_event(name) for name in ("sum", "any", "all", "mean", "argmin", "argmax")},
    **{name: _per_event(name) for name in ("num", "firsts", "sort", "count_nonzero")},
    "min": _per_event("min", _of_values(np.minimum, 2)),
    "max": _per_event("max", _of_values(np.maximum, 2)),
    "len": _per_event("num"),
}
_OF_RDATAFRAME = {
    name: name.lower() for name in ("Sum", "Any", "All", "Mean", "ArgMin", "ArgMax", "Min", "Max")
}
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **_LISTS,
    **{name: _LISTS[plain] for name, plain in _OF_RDATAFRAME.items()},
    **{name: _of_awkward(name, n) for name, n in OF_AWKWARD.items()},
    "minimum": _of_values(np.minimum, 2), "maximum": _of_values(np.maximum, 2),
    "pow": _pow, "power": _pow, "atan2": _of_values(np.arctan2, 2),
    "arctan2": _of_values(np.arctan2, 2), "hypot": _of_values(np.hypot, 2),
    **{
        name: _of_values(getattr(np, name), 1)
        for name in (
            "abs", "sqrt", "exp", "log", "log10", "log2", "sin", "cos", "tan", "sinh", "cosh",
            "tanh", "arcsin", "arccos", "arctan", "floor", "ceil", "sign", "round",
        )
    },
    **{short: _of_values(getattr(np, f"arc{short[1:]}"), 1) for short in ("asin", "acos", "atan")},
    "fabs": _of_values(np.abs, 1),
}  # fmt: skip
"""By name; those of lists have a value per event."""
CONSTANTS = {"pi": np.pi, "true": True, "false": False}
_REDUCERS = ("sum", "any", "all", "min", "max", "mean", "argmin", "argmax", "count_nonzero")
KEYWORDS: Mapping[str, Collection[str]] = {
    **dict.fromkeys(_REDUCERS, ("keepdims", "mask_identity")),
    **dict.fromkeys(_OF_RDATAFRAME, ("keepdims", "mask_identity")),
    "sort": ("ascending",), "fill_none": ("axis",), "is_none": ("axis",), "round": ("decimals",),
    "nearest": ("threshold",), "isclose": ("rtol", "atol"),
}  # fmt: skip
"""Those that functions and methods may be called with, by name."""
METHODS = (
    "deltaR", "deltaR2", "deltaphi", "deltaeta", "deltaangle", "deltaRapidityPhi", "delta_r",
    "delta_phi", "nearest", "dot", "cross", "add", "subtract", "scale", "unit", "boost",
    "boost_p4", "boost_beta3", "boostCM_of", "boostCM_of_p4", "boostCM_of_beta3", "boostX",
    "boostY", "boostZ", "rotateX", "rotateY", "rotateZ", "is_parallel", "is_antiparallel",
    "is_perpendicular", "is_timelike", "is_spacelike", "is_lightlike", "isclose", "to_Vector2D",
    "to_Vector3D", "to_Vector4D", "to_beta3",
)  # fmt: skip
"""Methods of objects: those of vectors."""


def field_of(value: Any, name: str) -> Any:
    """A field of objects, a property of vectors, or the objects that an index leads to."""
    if not is_awkward(value) or (name not in value.fields and name in vars(ak.Array)):
        raise NoSuchNameError(f"unknown field {name!r} of {_form(value)}")
    found = value[name] if name in value.fields else getattr(value, name)
    if not is_awkward(found):
        raise NoSuchNameError(
            f"{name!r} of {_form(value)} is not a field; a method is called: x.{name}(y)"
        )
    return found


def method_of(value: Any, name: str) -> Any:
    """A method of vectors."""
    if not is_awkward(value) or not hasattr(type(value), name):
        raise NoSuchNameError(f"unknown method {name!r} of {_form(value)}")
    return getattr(value, name)


def _form(value: Any) -> str:
    return str(value.type) if is_awkward(value) else type(value).__name__


def element(values: Any, *where: Any) -> Any:
    """`values[where]` within the list of each event. A number gives one of its elements, None where
    the list is too short; a mask or numbers per event choose in their own event alone."""
    if len(where) > 1:
        first, *where_then = where
        if first != slice(None) or len(where_then) > 1:
            raise TypeError("an index is within each event: x[0], x[:2], or x[:, 0] as of arrays")
        where = tuple(where_then)
    (index,) = where
    if isinstance(index, np.integer):
        index = int(index)
    if is_awkward(index):  # argmax(x, keepdims=True) has one per event: no index of NumPy's kind
        index = ak.from_regular(index, axis=None)
    if _n_dimensions(values) == 1:
        return _of_one_value(values, index)
    if isinstance(index, slice) or (isinstance(values, np.ndarray) and isinstance(index, int)):
        return values[:, index]
    if isinstance(index, int):
        return ak.firsts(values[:, index : index + 1 or None])
    if _n_dimensions(index) == 1:
        return _by_event(values, index)
    return values[index] if _is_bool(ak.flatten(index, axis=None)) else _taken(values, index)


def _of_one_value(values: Any, index: Any) -> Any:
    is_mask = not isinstance(index, int | slice) and ak.Array(index).ndim == 1
    if is_mask and _is_bool(index):
        return ak.mask(values, ak.fill_none(index, False))
    raise TypeError("one value per event has no elements: take the column itself")


def _by_event(values: Any, index: Any) -> Any:
    """`index`: (n_events,), whether an event keeps its list, or the place in it."""
    places = ak.local_index(values, axis=1)
    if _is_bool(index):
        return values[ak.broadcast_arrays(ak.fill_none(index, False), places)[0]]
    return ak.firsts(values[places == ak.fill_none(index, -1)])


def _taken(values: Any, index: Any) -> Any:
    """`index`: (n_events, any number); where there is no such place, as of -1, the result is
    None."""
    is_there = (index >= 0) & (index < ak.num(values, axis=1))
    return values[ak.mask(index, is_there)]


def _is_bool(index: Any) -> bool:
    return bool(ak.to_numpy(ak.fill_none(ak.Array(index), 0)[:0]).dtype.kind == "b")


def combined(operation: Any, *values: Any) -> Any:
    """`a and b and c` of arrays."""
    return functools.reduce(operation, values)
