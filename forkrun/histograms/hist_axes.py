"""Axes of `hist` and boost_histogram: their descriptions in files, and the bins of entries, equal
to those of boost_histogram's fill. (`index` of its category axes refuses values that its fill puts
into the overflow bin.) Axes in configurations, their translation from and to `hist`, and fine ones
that other axes can be made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from forkrun import _core
from forkrun.base.quantities import plural
from forkrun.histograms.axes import AxisKind, HistogramAxis
from forkrun.histograms.parts import HistogramSums

if TYPE_CHECKING:
    from forkrun.config.modules import AxisConfig


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
    import boost_histogram as bh

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
    import boost_histogram as bh

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
    import boost_histogram as bh

    if not has_coordinates(axis):
        return ()
    return (axis.edges,) if isinstance(axis, bh.axis.Variable) else axis._ax.__getstate__()[-2:]


def column_finder(axis: Any) -> Callable[[Any], npt.NDArray[Any]]:
    """Function from values of a fill, one or (n,), to coordinates or bins; -1 or n_bins for values
    outside. It raises ValueError or TypeError for values that the axis does not accept."""
    import boost_histogram as bh

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
    import boost_histogram as bh

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


_NAMES = ("name", "label")
_BINS = ("bins", "low", "high", "edges")
_MOST_CELLS = 1 << 22
"""Most bins of a histogram with fine axes: their sums take 130 MB in each child."""


def axis_settings(axis: AxisConfig) -> dict[str, Any]:
    """Settings of an axis that differ from the defaults."""
    growing = {"categories": axis.categories} if axis.growth else {}
    defaults = type(axis).known_keys
    return {key: value for key, value in axis if value != defaults[key].default} | growing


def without_fine_bins(axis: Mapping[str, Any]) -> dict[str, Any]:
    """An axis without the settings that may change where fine sums are kept."""
    changing = _BINS if axis.get("keep_fine") else ()
    return {key: value for key, value in axis.items() if key not in changing}


def filled_axes(given: Sequence[Mapping[str, Any]], histogram: str) -> list[Any]:
    """Axes of `hist` for fills: with keep_fine fine ones. Raises ValueError."""
    made = [make_axis(axis, number, histogram) for number, axis in enumerate(given)]
    kept = [bool(axis.get("keep_fine")) for axis in given]
    made = [_fine(axis, own) if k else own for axis, own, k in zip(given, made, kept, strict=True)]
    n_cells = math.prod(axis.extent for axis in made)
    if any(kept) and n_cells > _MOST_CELLS:
        raise ValueError(
            f"keep_fine makes {plural(n_cells, 'bin')} of it; {_MOST_CELLS:,} at most are kept:"
            " take it from an axis"
        )
    return made


def _fine(given: Mapping[str, Any], axis: Any) -> Any:
    """The fine axis for an axis of `hist`."""
    import hist

    regular = (AxisKind.REGULAR, given.get("bins"), given.get("low"), given.get("high"))
    bins = (AxisKind.VARIABLE, *given["edges"]) if "edges" in given else regular
    described = HistogramAxis(AxisKind.FINE, axis.label, bins)
    low, high = _bins_of_fine(described, axis)
    if (low != high).any():
        raise ValueError(f"the bins of {axis!r} are too narrow for finer ones")
    fine = hist.axis.Variable(described.edges, name=axis.name, label=axis.label)
    fine.__dict__[FINE_BINS] = bins
    return fine


def _bins_of_fine(fine: HistogramAxis, axis: Any) -> tuple[Any, Any]:
    """(extent,) index in an axis of the lowest and of the highest value of each fine bin, under-
    and overflow included. Where these agree so does all between them."""
    lowest = np.concatenate([[-np.inf], fine.edges])
    highest = np.concatenate([np.nextafter(fine.edges, -np.inf), [np.inf]])
    return axis.index(lowest) + 1, axis.index(highest) + 1


def shown_axes(module: Mapping[str, Any]) -> dict[int, Any]:
    """Axes of `hist` that are made of fine ones in the histogram of a module, given as in
    config.json; by number."""
    from forkrun.config.modules import AxisConfig

    given = [axis_settings(AxisConfig.checked(axis)) for axis in module["axes"]]
    return {
        number: make_axis(axis, number, module["name"] or module["label"])
        for number, axis in enumerate(given)
        if axis.get("keep_fine")
    }


def is_fine(sums: HistogramSums) -> bool:
    """Whether other bins can be made of the sums."""
    return any(axis.kind is AxisKind.FINE for axis in sums.axes)


def made_of_fine(sums: HistogramSums, axes: Mapping[int, Any]) -> HistogramSums:
    """The sums with these axes of `hist` in place of fine ones, by number. Raises ValueError if an
    edge is within a fine bin that is not empty."""

    is_filled = (sums.sums != 0).any(axis=0).T
    all_axes, places = list(sums.axes), [np.arange(axis.extent) for axis in sums.axes]
    for number, axis in axes.items():
        if all_axes[number].kind is not AxisKind.FINE:
            raise ValueError("its sums are not fine")
        low, high = _bins_of_fine(all_axes[number], axis)
        others = tuple(n for n in range(len(all_axes)) if n != number)
        if (across := is_filled.any(axis=others) & (low != high)).any():
            edge = axis.edges[low[across][0]]
            raise ValueError(f"no fine bin begins at {edge:g}")
        all_axes[number], places[number] = described(axis), low
    result = sums.copy()
    result.move_to(tuple(all_axes), places)
    return result


def make_axis(given: Mapping[str, Any], number: int, histogram: str) -> Any:
    """An axis of `hist`. `given`: bins, low and high; or edges; start and stop; categories."""
    import hist  # takes 50 ms, not needed to describe an axis

    values = {key: value for key, value in given.items() if key != "keep_fine"}
    names = {key: values.pop(key) for key in _NAMES if key in values}
    names.setdefault("name", histogram if number == 0 else f"axis{number}")
    match values:
        case {"bins": bins, "low": low, "high": high, "log": True}:
            log = hist.axis.transform.log
            return hist.axis.Regular(bins, low, high, transform=log, **names)
        case {"bins": bins, "low": low, "high": high}:
            return hist.axis.Regular(bins, low, high, **names)
        case {"edges": edges}:
            return hist.axis.Variable(list(edges), **names)
        case {"start": start, "stop": stop}:
            return hist.axis.Integer(start, stop, **names)
    categories, growth = list(values["categories"]), values.get("growth", False)
    is_text = not values.get("integers") and all(isinstance(each, str) for each in categories)
    kind = hist.axis.StrCategory if is_text else hist.axis.IntCategory
    return kind(categories, growth=growth, **names)


def describe_axis(axis: Any) -> dict[str, Any]:
    """Description of an axis for a configuration. `axis`: of `hist`, (bins, low, high), or such a
    description. Raises TypeError for axes that cannot be described."""
    if isinstance(axis, Mapping):
        return dict(axis)
    if isinstance(axis, tuple | list):
        if len(axis) != 3 or int(axis[0]) != axis[0]:
            raise TypeError(f"an axis is (bins, low, high), not {axis!r}")
        bins, low, high = axis
        return {"bins": int(bins), "low": float(low), "high": float(high)}
    words = {key: text for key in _NAMES if (text := getattr(axis, key, ""))}
    return {**_bins_of(axis), **words}


def _bins_of(axis: Any) -> dict[str, Any]:
    import boost_histogram as bh

    is_plain = axis.traits.underflow == axis.traits.overflow and not axis.traits.circular
    match axis:
        case bh.axis.Regular() if axis.transform is None and axis.traits.underflow and is_plain:
            edges = axis.edges
            return {"bins": len(axis), "low": float(edges[0]), "high": float(edges[-1])}
        case bh.axis.Variable() if axis.traits.underflow and is_plain:
            return {"edges": axis.edges.tolist()}
        case bh.axis.Integer() if axis.traits.underflow and is_plain and not axis.traits.growth:
            return {"start": int(axis.edges[0]), "stop": int(axis.edges[-1])}
        case bh.axis.StrCategory() | bh.axis.IntCategory():
            words = {"categories": list(axis), "growth": bool(axis.traits.growth)}
            is_told = len(axis) > 0 or isinstance(axis, bh.axis.StrCategory)
            return words if is_told else {**words, "integers": True}
    raise TypeError(
        f"{axis!r}: job.hist takes (bins, low, high), and Regular, Variable, Integer and category"
        " axes with flow; fill others in a forkrun.Analyzer"
    )
