"""Which bins the entries of a fill are in: the same as boost_histogram finds itself. (Its axes' own
`index` takes other values than its fill does: it refuses categories that are in the overflow bin.)
"""

from __future__ import annotations

from typing import Any

import boost_histogram as bh
import numpy as np
import numpy.typing as npt

Column = tuple[Any, ...]
"""n_bins, underflow, overflow, bins; for a regular axis coordinates, low and width instead
of bins, for a variable one coordinates and edges. See `_core.CellTable.fill`."""

_axis = bh._core.axis
_REGULAR = (_axis.regular_none, _axis.regular_uflow, _axis.regular_oflow, _axis.regular_uoflow)
_VARIABLE = (_axis.variable_none, _axis.variable_uflow, _axis.variable_oflow, _axis.variable_uoflow)
_TEXTS = tuple(getattr(_axis, n) for n in dir(_axis) if n.startswith("category_str"))
_CATEGORIES = tuple(getattr(_axis, n) for n in dir(_axis) if n.startswith("category_int"))
_INTEGERS = (
    *(getattr(_axis, n) for n in dir(_axis) if n.startswith("integer")),
    _axis.boolean,
)


def column_of_axis(axis: Any, values: Any) -> Column:
    """`axis`: of boost_histogram's core; `values`: of its fill, one or (n,)."""
    about = axis.size, axis.traits_underflow, axis.traits_overflow
    if isinstance(axis, _TEXTS):
        return *about, _bins_of_texts(axis, values)
    values = np.atleast_1d(np.asarray(values))
    if values.ndim > 1:
        raise ValueError("All arrays must be 1D")
    if isinstance(axis, _CATEGORIES):
        return *about, _bins_of_numbers(axis, _integers(values))
    if isinstance(axis, _INTEGERS):
        return *about, axis.index(_integers(values))
    coordinates = values.astype(np.float64, copy=False)
    if isinstance(axis, _REGULAR):
        return *about, coordinates, *_low_and_width(axis)
    if isinstance(axis, _VARIABLE):
        return *about, coordinates, axis.edges
    return *about, axis.index(coordinates)


def is_category(axis: Any) -> bool:
    return isinstance(axis, (*_TEXTS, *_CATEGORIES))


def is_unseen(axis: Any, column: Column) -> bool:
    """Whether there are values for which the axis grows."""
    if not axis.traits_growth:
        return False
    bins = column[3]
    return bool(((bins < 0) | (bins >= axis.size)).any())


def number_axis(axis: Any) -> tuple[Any, ...] | None:
    """See `_core.NumberAxes`; None of other axes."""
    about = axis.size, axis.traits_underflow, axis.traits_overflow
    if isinstance(axis, _REGULAR):
        return *about, *_low_and_width(axis)
    return (*about, axis.edges) if isinstance(axis, _VARIABLE) else None


def _low_and_width(axis: Any) -> tuple[float, float]:
    """As its own arithmetic has them: the width need not be the difference of its outer edges."""
    *_, low, width = axis.__getstate__()
    return low, width


def _integers(values: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    if values.dtype.kind not in "iub":
        raise TypeError("Only integer arrays supported when targeting integer axes")
    if len(values) and not (values.min() >= -(2**31) and values.max() < 2**31):
        raise ValueError("Integer axis values must fit in a 32-bit signed integer")
    return values.astype(np.int32, copy=False)


def _bins_of_numbers(axis: Any, values: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    categories = np.array([axis.bin(n) for n in range(axis.size)], dtype=np.int32)
    order = np.argsort(categories)
    places = np.searchsorted(categories, values, sorter=order)
    found = np.append(order, axis.size)[places]
    is_known = np.append(categories, 0)[found] == values
    bins: npt.NDArray[np.int32] = np.where(is_known & (found < axis.size), found, axis.size)
    return bins.astype(np.int32)


def _bins_of_texts(axis: Any, values: Any) -> npt.NDArray[np.int32]:
    place = {axis.bin(n): n for n in range(axis.size)}
    texts = [values] if isinstance(values, str) else np.atleast_1d(values)
    if not isinstance(texts, list):
        if texts.ndim > 1:
            raise ValueError("All arrays must be 1D")
        texts = texts.tolist()
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("Only texts can be filled into an axis of texts")
    return np.array([place.get(text, axis.size) for text in texts], dtype=np.int32)
