"""Functions of expressions, and indices: each is of one event, whatever the others hold."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from forkrun.base.awkward_array import ak


def _per_event(name: str, of_two: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Over the list of each event. `of_two`: what max(x, y) of several arguments is."""

    def apply(values: Any, *others: Any, **options: Any) -> Any:
        if others and of_two:
            return functools.reduce(of_two, others, values)
        if others:
            raise TypeError(f"{name}() takes one list per event, not {1 + len(others)} arguments")
        if _n_dimensions(values) == 1:
            raise TypeError(f"{name}() is of a list per event, and got one value per event")
        return getattr(ak, name)(values, axis=1, **options)

    return apply


def _n_dimensions(values: Any) -> int:
    return int((values if isinstance(values, np.ndarray) else ak.Array(values)).ndim)


def _of_awkward(name: str) -> Callable[..., Any]:
    def apply(*arguments: Any, **options: Any) -> Any:
        return getattr(ak, name)(*arguments, **options)

    return apply


OF_AWKWARD = ("where", "fill_none", "is_none")
"""Functions that are the library's own, whatever they are called with."""
_LISTS = {
    **{name: _per_event(name) for name in ("sum", "any", "all", "mean", "argmin", "argmax")},
    **{name: _per_event(name) for name in ("num", "firsts", "sort", "count_nonzero")},
    "min": _per_event("min", np.minimum),
    "max": _per_event("max", np.maximum),
    "len": _per_event("num"),
}
_OF_RDATAFRAME = {
    name: name.lower() for name in ("Sum", "Any", "All", "Mean", "ArgMin", "ArgMax", "Min", "Max")
}
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **_LISTS,
    **{name: _LISTS[plain] for name, plain in _OF_RDATAFRAME.items()},
    **{name: _of_awkward(name) for name in OF_AWKWARD},
    "minimum": np.minimum, "maximum": np.maximum, "pow": np.power, "power": np.power,
    "atan2": np.arctan2,
    **{
        name: getattr(np, name)
        for name in (
            "abs", "sqrt", "exp", "log", "log10", "log2", "sin", "cos", "tan", "sinh", "cosh",
            "tanh", "arcsin", "arccos", "arctan", "arctan2", "hypot", "floor", "ceil", "sign",
        )
    },
    **{short: getattr(np, f"arc{short[1:]}") for short in ("asin", "acos", "atan")},
    "fabs": np.abs, "round": np.round,
}  # fmt: skip
"""By name; those of lists have a value per event."""
CONSTANTS = {"pi": np.pi, "True": True, "False": False}


def element(values: Any, *where: Any) -> Any:
    """`values[where]` within the list of each event. A number gives one of its elements, None where
    the list is too short; a mask or numbers per event choose in their own event alone."""
    if len(where) > 1:
        first, *where_then = where
        if first != slice(None) or len(where_then) > 1:
            raise TypeError("an index is within each event: x[0], x[:2], or x[:, 0] as of arrays")
        where = tuple(where_then)
    (index,) = where
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
