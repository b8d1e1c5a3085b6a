"""Functions and indices of expressions. Each works within one event, independently of others."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from forkrun.base.awkward_array import ak, is_awkward
from forkrun.base.quantities import plural
from forkrun.modules.cpp_arithmetic import as_type, at_least_int, integer_type
from forkrun.modules.missing_values import (
    aligned,
    as_lists,
    decided_by,
    filled,
    has_nan,
    is_list,
    masked,
    of_exact_type,
    where,
)
from forkrun.modules.objects.collections import NoSuchNameError

_OF_OBJECTS = ("num", "firsts", "sum")
"""Functions that also take lists of objects: vectors have a sum."""


def _per_event(name: str, of_two: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Function of the list of each event. `of_two`: meaning of several arguments, as in max(x,
    y)."""

    def apply(values: Any, *others: Any, **options: Any) -> Any:
        if others and of_two:
            return functools.reduce(of_two, others, values)
        if others:
            raise TypeError(f"{name}() takes one list per event, not {1 + len(others)} of them")
        if not is_list(values):
            raise TypeError(f"{name}() takes a list per event, and got one value per event")
        if name not in _OF_OBJECTS and (fields := getattr(values, "fields", None)):
            raise TypeError(f"{name}() takes numbers, not objects: take one of their members, as"
                            f" {name}(x.{fields[0]})")  # fmt: skip
        return _REDUCED.get(name, getattr(ak, name))(values, axis=1, **options)

    return apply


def _signed(name: str) -> Callable[..., Any]:
    """Sum or product; signed for unsigned integers below 32 bits, which C++ promotes to int."""

    def apply(values: Any, **options: Any) -> Any:
        total, kind = getattr(ak, name)(values, **options), integer_type(values)
        is_small = kind is not None and kind.kind == "u" and kind.itemsize < np.int32().itemsize
        return as_type(total, np.dtype(np.int64)) if is_small else total

    return apply


def _mean(values: Any, **options: Any) -> Any:
    """Mean; None for an empty list, as for the minimum and maximum."""
    return ak.mean(values, **{"mask_identity": True, **options})


def _least_or_largest(name: str) -> Callable[..., Any]:
    """Minimum or maximum; NaN only if there is no other number: Awkward gives an infinity there."""

    def apply(values: Any, **options: Any) -> Any:
        found = getattr(ak, name)(values, **options)
        if not has_nan(values):
            return found
        is_nan = ak.all(np.isnan(values), **{**options, "mask_identity": False})
        return ak.where(is_nan & np.isinf(found), np.nan, found)

    return apply


_REDUCED: Mapping[str, Callable[..., Any]] = {
    "sum": _signed("sum"), "prod": _signed("prod"), "mean": _mean,
    "any": decided_by("any", False), "all": decided_by("all", True),
    "min": _least_or_largest("min"), "max": _least_or_largest("max"),
}  # fmt: skip
"""Replacements of Awkward's functions where their results differ."""


def _of_values(operation: Callable[..., Any], n: int) -> Callable[..., Any]:
    """Function of each value of `n` arrays; integers have at least 32 bits. Further arguments are
    refused: NumPy would write its results to them."""

    def apply(*arguments: Any, **options: Any) -> Any:
        if len(arguments) != n:
            wanted = f"{operation.__name__}() takes {plural(n, 'value')}"
            raise TypeError(f"{wanted}, and got {len(arguments)}")
        return operation(*map(at_least_int, aligned(*arguments)), **options)

    return apply


def _chosen_of_two(name: str) -> Callable[..., Any]:
    """The smaller or larger of two values. Raises ValueError where integers would be rounded."""
    choose = _of_values(getattr(np, name), 2)

    def apply(*values: Any) -> Any:
        if len(values) == 2:
            values = of_exact_type(*values), of_exact_type(*reversed(values))
        return choose(*values)

    return apply


def _pow(base: Any, exponent: Any) -> Any:
    """Power; a floating-point number also for two integers, as in C++."""
    if integer_type(base) is not None and integer_type(exponent) is not None:
        base = 1.0 * at_least_int(base)
    return np.power(*aligned(base, exponent))


def _taking(n: int, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Function with exactly `n` arguments."""

    def apply(*arguments: Any, **options: Any) -> Any:
        if len(arguments) != n:
            raise TypeError(f"{name}() takes {plural(n, 'argument')}, and got {len(arguments)}")
        plain = [a.item() if isinstance(a, np.generic) else a for a in arguments]
        return function(*plain, **options)

    return apply


def _is_none(values: Any, axis: int | None = None) -> Any:
    """Whether each number, list or object is missing, at the level where the type allows it."""
    if not is_awkward(values):
        return np.zeros(np.shape(values), np.bool_)
    inner = -1 if is_list(values) and not values.layout.is_option else 0
    return ak.is_none(values, axis=inner if axis is None else axis)


def _fill_none(values: Any, instead: Any, **options: Any) -> Any:
    """The values with `instead` for None; truth values remain truth values with 0 or 1. `instead`:
    a number, or one per event or value."""
    if not isinstance(instead, bool | int | float):
        return where(_is_none(values, **options), instead, values)
    kind = integer_type(values)
    if kind is not None and kind.kind == "b" and instead in (0, 1):
        instead = bool(instead)
    return ak.fill_none(values, of_exact_type(instead, values), **options)


OF_AWKWARD: Mapping[str, tuple[int, Callable[..., Any]]] = {
    "where": (3, where), "fill_none": (2, _fill_none), "is_none": (1, _is_none)
}  # fmt: skip
"""Functions that take Awkward Arrays even without jagged columns, with their numbers of
arguments."""
_LISTS = {
    **{name: _per_event(name) for name in ("sum", "any", "all", "mean", "argmin", "argmax")},
    **{name: _per_event(name) for name in ("num", "firsts", "sort", "count_nonzero", "prod")},
    "min": _per_event("min", _chosen_of_two("minimum")),
    "max": _per_event("max", _chosen_of_two("maximum")),
    "len": _per_event("num"),
}
_OF_RDATAFRAME = {
    name: name.lower() for name in ("Sum", "Any", "All", "Mean", "ArgMin", "ArgMax", "Min", "Max")
}
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **_LISTS,
    **{name: _LISTS[plain] for name, plain in _OF_RDATAFRAME.items()},
    **{name: _taking(n, name, function) for name, (n, function) in OF_AWKWARD.items()},
    "minimum": _chosen_of_two("minimum"), "maximum": _chosen_of_two("maximum"),
    "pow": _pow, "power": _pow, "atan2": _of_values(np.arctan2, 2),
    "arctan2": _of_values(np.arctan2, 2), "hypot": _of_values(np.hypot, 2),
    **{
        name: _of_values(getattr(np, name), 1)
        for name in (
            "abs", "sqrt", "exp", "log", "log10", "log2", "sin", "cos", "tan", "sinh", "cosh",
            "tanh", "arcsin", "arccos", "arctan", "floor", "ceil", "sign", "round", "isnan",
            "isinf", "isfinite",
        )
    },
    **{short: _of_values(getattr(np, f"arc{short[1:]}"), 1) for short in ("asin", "acos", "atan")},
    "fabs": _of_values(np.abs, 1),
}  # fmt: skip
"""Functions by name; functions of lists give one value per event."""
CONSTANTS = {"pi": np.pi, "true": True, "false": False}
_REDUCERS = ("sum", "any", "all", "min", "max", "mean", "argmin", "argmax", "count_nonzero", "prod")
KEYWORDS: Mapping[str, Collection[str]] = {
    **dict.fromkeys(_REDUCERS, ("keepdims", "mask_identity")),
    **dict.fromkeys(_OF_RDATAFRAME, ("keepdims", "mask_identity")),
    "sort": ("ascending",), "fill_none": ("axis",), "is_none": ("axis",), "round": ("decimals",),
    "nearest": ("threshold",), "isclose": ("rtol", "atol"),
}  # fmt: skip
"""Allowed keywords of functions and methods, by name."""
METHODS = (
    "deltaR", "deltaR2", "deltaphi", "deltaeta", "deltaangle", "deltaRapidityPhi", "delta_r",
    "delta_phi", "nearest", "dot", "cross", "add", "subtract", "scale", "unit", "boost",
    "boost_p4", "boost_beta3", "boostCM_of", "boostCM_of_p4", "boostCM_of_beta3", "boostX",
    "boostY", "boostZ", "rotateX", "rotateY", "rotateZ", "is_parallel", "is_antiparallel",
    "is_perpendicular", "is_timelike", "is_spacelike", "is_lightlike", "isclose", "to_Vector2D",
    "to_Vector3D", "to_Vector4D", "to_beta3",
)  # fmt: skip
"""Methods of objects, which are Lorentz vectors."""


def field_of(value: Any, name: str) -> Any:
    """Field of objects, property of vectors, or objects to which an index leads."""
    if not (is_awkward(value) and value.fields):
        raise NoSuchNameError(f"a column of numbers has no {name!r}: objects have members")
    if name not in value.fields and name in vars(ak.Array):
        raise NoSuchNameError(f"unknown field {name!r} of {_form(value)}")
    found = value[name] if name in value.fields else getattr(value, name)
    if not is_awkward(found):
        raise NoSuchNameError(
            f"{name!r} of {_form(value)} is not a field; a method is called: x.{name}(y)"
        )
    return found


def method_of(value: Any, name: str) -> Any:
    """Method of vectors."""
    if not is_awkward(value) or not hasattr(type(value), name):
        raise NoSuchNameError(f"unknown method {name!r} of {_form(value)}")
    return getattr(value, name)


def _form(value: Any) -> str:
    return str(value.type) if is_awkward(value) else type(value).__name__


def element(values: Any, *where: Any) -> Any:
    """`values[where]` within the list of each event. A number gives one element, None where the
    list is too short; a mask, or numbers per event, select within their own event."""
    if len(where) > 1:
        first, *where_then = where
        if first != slice(None) or len(where_then) > 1:
            raise TypeError("an index is within each event: x[0], x[:2], or x[:, 0] as of arrays")
        where = tuple(where_then)
    (index,) = where
    if isinstance(index, np.integer):
        index = int(index)
    if isinstance(index, bool | np.bool_) and not _is_constant(values):  # a mask, not a position
        index = np.full(len(values), index)
    if not is_list(values):
        return _select_values(values, index)
    if isinstance(index, slice) or (isinstance(values, np.ndarray) and isinstance(index, int)):
        return values[:, index]
    if isinstance(index, int):
        return ak.firsts(values[:, index : index + 1 or None])
    values, index = as_lists(values), as_lists(index)  # NumPy would index all events
    if not is_list(index):
        return _per_event_index(values, index)
    return _selected_by(values, index) if _is_bool(index) else _at_positions(values, index)


def _is_constant(values: Any) -> bool:
    return not (is_awkward(values) or isinstance(values, np.ndarray))


def _select_values(values: Any, index: Any) -> Any:
    if not isinstance(index, int | slice) and not is_list(index) and _is_bool(index):
        return ak.mask(values, filled(index, False))
    raise TypeError("one value per event has no elements: take the column itself")


def _per_event_index(values: Any, index: Any) -> Any:
    """`index`: (n_events,), whether each event keeps its list, or a position in the list."""
    places = ak.local_index(values, axis=1)
    if _is_bool(index):
        return values[ak.broadcast_arrays(filled(index, False), places)[0]]
    if integer_type(index) is None:
        raise TypeError("an index is an integer, or a mask")
    return ak.firsts(values[places == filled(as_type(index, np.dtype(np.int64)), -1)])


def _selected_by(values: Any, mask: Any) -> Any:
    """`mask`: (n_events, any number); missing values and lists select nothing."""
    chosen = values[filled(mask, False)]
    if not mask.layout.is_option:
        return chosen
    chosen = ak.fill_none(chosen, [], axis=0)
    return masked(chosen, ak.is_none(values, axis=0)) if values.layout.is_option else chosen


def _at_positions(values: Any, index: Any) -> Any:
    """`index`: (n_events, any number); None where the position does not exist, also for -1."""
    is_there = (index >= 0) & (index < ak.num(values, axis=1))
    return values[ak.mask(index, is_there)]


def _is_bool(index: Any) -> bool:
    """Whether an index is a mask, by its type."""
    kind = integer_type(index)
    return kind is not None and kind.kind == "b"
