"""Axes of `hist` and boost_histogram: as files describe them, and where on them entries are, which
is where a fill of boost_histogram puts them. (`index` of its category axes takes other values than
its fill does: it refuses those that are in the overflow bin.)"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

import boost_histogram as bh
import numpy as np
import numpy.typing as npt

from forkrun import _core
from forkrun.histograms.axes import AxisKind, HistogramAxis

Bins = npt.NDArray[np.int32]

_MOST_PLACES = 1 << 16
"""Size limit of a table of all numbers between the least and the greatest category."""
_MOST_COMPARED = 16
"""Categories with which an array of texts is compared faster than each text is looked up."""


def described(axis: Any, n_declared: int | None = None) -> HistogramAxis:
    """`n_declared`: categories when it was booked, None if that is now. Raises ValueError if ROOT
    has no equivalent of it, or if those of several units could not be added."""
    kind, bins = _kind_and_bins(axis)
    title, traits = str(getattr(axis, "label", "") or ""), axis.traits
    if traits.growth and kind in (AxisKind.REGULAR, AxisKind.VARIABLE):
        raise ValueError(
            f"the axis {title or axis!r} grows: where its new edges are depends on the order of"
            " fills, so those of several units cannot be added; only Integer, StrCategory and"
            " IntCategory may grow"
        )
    if kind is not AxisKind.CATEGORY:
        n_declared = 0
    elif n_declared is None:
        n_declared = len(bins)
    return HistogramAxis(
        kind, title, bins, traits.underflow, traits.overflow, traits.growth, n_declared
    )


def _kind_and_bins(axis: Any) -> tuple[AxisKind, tuple[Any, ...]]:
    match axis:
        case bh.axis.StrCategory() | bh.axis.IntCategory():
            return AxisKind.CATEGORY, tuple(axis)
        case bh.axis.Boolean():
            return AxisKind.INTEGER, (0, 2)
        case bh.axis.Integer():
            start = int(axis.edges[0])
            return AxisKind.INTEGER, (start, start + len(axis))
        case bh.axis.Regular() if axis.transform is None:
            edges = axis.edges
            return AxisKind.REGULAR, (len(axis), float(edges[0]), float(edges[-1]))
        case bh.axis.Regular() | bh.axis.Variable():
            return AxisKind.VARIABLE, tuple(axis.edges.tolist())
    raise ValueError(f"ROOT has no equivalent of the axis {axis!r}")


def has_coordinates(axis: Any) -> bool:
    """Whether the core finds the bins itself: regular and variable axes."""
    if axis.traits.circular or not isinstance(axis, bh.axis.Regular | bh.axis.Variable):
        return False
    return isinstance(axis, bh.axis.Variable) or axis.transform is None


def core_axes(axes: Sequence[Any]) -> _core.FillAxes:
    return _core.FillAxes(
        [(axis.size, axis.traits.underflow, axis.traits.overflow, *_place(axis)) for axis in axes]
    )


def _place(axis: Any) -> tuple[Any, ...]:
    """Edges, or low and width as its own arithmetic has them: the width need not be the difference
    of its outer edges."""
    if not has_coordinates(axis):
        return ()
    return (axis.edges,) if isinstance(axis, bh.axis.Variable) else axis._ax.__getstate__()[-2:]


def column_finder(axis: Any) -> Callable[[Any], npt.NDArray[Any]]:
    """What makes of values of a fill, one or (n,), coordinates or bins, which are -1 or n_bins for
    values outside. Raises ValueError or TypeError for values that the axis does not take."""
    if isinstance(axis, bh.axis.StrCategory):
        return _finder_of_texts(tuple(axis))
    if isinstance(axis, bh.axis.IntCategory):
        return _finder_of_numbers(np.array(tuple(axis), dtype=np.int32))
    if isinstance(axis, bh.axis.Integer | bh.axis.Boolean):
        return lambda values: axis.index(_integers(values))
    if has_coordinates(axis):
        return _coordinates
    return lambda values: axis.index(_coordinates(values))


def _array(values: Any) -> npt.NDArray[Any]:
    array = np.atleast_1d(np.asarray(values))
    if array.ndim > 1:
        raise ValueError("All arrays must be 1D")
    return array


def _coordinates(values: Any) -> npt.NDArray[np.float64]:
    return _array(values).astype(np.float64, copy=False)


def _integers(values: Any) -> npt.NDArray[np.int32]:
    array = _array(values)
    if array.dtype.kind not in "iub":
        raise TypeError("Only integer arrays supported when targeting integer axes")
    if len(array) and not (array.min() >= -(2**31) and array.max() < 2**31):
        raise ValueError("Integer axis values must fit in a 32-bit signed integer")
    return array.astype(np.int32, copy=False)


def _finder_of_numbers(categories: npt.NDArray[np.int32]) -> Callable[[Any], Bins]:
    low, n = (int(categories.min()) if len(categories) else 0), len(categories)
    n_places = int(categories.max()) - low + 1 if n else 0
    if n_places > _MOST_PLACES:
        place = {category: number for number, category in enumerate(categories.tolist())}
        return lambda values: np.array([place.get(v, n) for v in _integers(values).tolist()], "i4")
    bins = np.full(n_places + 2, n, dtype=np.int32)  # one more below, one above
    bins[categories.astype(np.int64) - low + 1] = np.arange(n)
    return lambda values: bins[np.clip(_integers(values), low - 1, low + n_places) - (low - 1)]


def _finder_of_texts(categories: tuple[str, ...]) -> Callable[[Any], Bins]:
    place = {category: number for number, category in enumerate(categories)}
    n = len(categories)

    def bins_of(values: Any) -> Bins:
        texts = [values] if isinstance(values, str) else values
        if not isinstance(texts, list):
            array = _array(texts)
            if array.dtype.kind == "U" and n <= _MOST_COMPARED:
                return _compared(array, categories)
            texts = array.tolist()
        if not all(issubclass(kind, str) for kind in set(map(type, texts))):
            raise TypeError("Only texts can be filled into an axis of texts")
        return np.fromiter(map(place.get, texts, repeat(n)), np.int32, len(texts))

    return bins_of


def _compared(texts: npt.NDArray[np.str_], categories: Sequence[str]) -> Bins:
    bins = np.full(len(texts), len(categories), dtype=np.int32)
    for number, category in enumerate(categories):
        bins[texts == category] = number
    return bins


def grown(axis: Any, values: Any) -> Any:
    """The axis, if it grows, with bins for all values that it does not have, in their order."""
    if not axis.traits.growth:
        return axis
    if isinstance(axis, bh.axis.Integer):
        numbers = _integers(values).tolist()
        ends = [int(axis.edges[0]), int(axis.edges[-1])] if len(axis) else []
        low, high = min([*ends, *numbers]), max([*ends, *(n + 1 for n in numbers)])
        made = type(axis)(low, high, growth=True)
    else:
        given = [values] if isinstance(values, str) else np.atleast_1d(values).tolist()
        made = type(axis)(tuple(dict.fromkeys((*axis, *given))), growth=True)
    made.__dict__.update(axis.__dict__)  # name and label
    return made
