"""Axes of `hist` and boost_histogram: their descriptions in files, and the bins of entries, equal
to those of boost_histogram's fill. (`index` of its category axes refuses values that its fill puts
into the overflow bin.)"""

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

FINE_BINS = "forkrun_fine_bins"
"""Name in the metadata of a fine axis."""
_MOST_PLACES = 1 << 16
"""Size limit of a table of all numbers between the lowest and the highest category."""
_MOST_COMPARED = 16
"""Number of categories up to which comparing arrays is faster than looking up each text."""


def described(axis: Any, n_declared: int | None = None) -> HistogramAxis:
    """Describes an axis. `n_declared`: number of categories at booking, None: the present ones.
    Raises ValueError if ROOT has no equivalent, or if histograms of several units could not be
    added."""
    kind, bins = _kind_and_bins(axis)
    title, traits = str(getattr(axis, "label", "") or ""), axis.traits
    if traits.growth and kind in (AxisKind.REGULAR, AxisKind.VARIABLE):
        raise ValueError(
            f"the axis {title or axis!r} grows: its new edges depend on the order of fills, so "
            "histograms of several units cannot be added; only Integer, StrCategory and"
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
        case bh.axis.Variable() if bins := axis.__dict__.get(FINE_BINS):
            return AxisKind.FINE, bins
        case bh.axis.Regular() if axis.transform is None:
            edges = axis.edges
            return AxisKind.REGULAR, (len(axis), float(edges[0]), float(edges[-1]))
        case bh.axis.Regular() | bh.axis.Variable():
            return AxisKind.VARIABLE, tuple(axis.edges.tolist())
    raise ValueError(f"ROOT has no equivalent of the axis {axis!r}")


def has_coordinates(axis: Any) -> bool:
    """Whether the core finds the bins: true for regular and variable axes."""
    if axis.traits.circular or not isinstance(axis, bh.axis.Regular | bh.axis.Variable):
        return False
    return isinstance(axis, bh.axis.Variable) or axis.transform is None


def core_axes(axes: Sequence[Any]) -> _core.FillAxes:
    return _core.FillAxes(
        [(axis.size, axis.traits.underflow, axis.traits.overflow, *_place(axis)) for axis in axes]
    )


def _place(axis: Any) -> tuple[Any, ...]:
    """Edges, or low and width in boost_histogram's arithmetic: the width may differ from that
    between its outer edges."""
    if not has_coordinates(axis):
        return ()
    return (axis.edges,) if isinstance(axis, bh.axis.Variable) else axis._ax.__getstate__()[-2:]


def column_finder(axis: Any) -> Callable[[Any], npt.NDArray[Any]]:
    """Function from values of a fill, one or (n,), to coordinates or bins; -1 or n_bins for values
    outside. It raises ValueError or TypeError for values that the axis does not accept."""
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
    bins = np.full(n_places + 2, n, dtype=np.int32)  # one extra below, one above
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
    """A growing axis with bins for all new values, in their order; other axes unchanged."""
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
