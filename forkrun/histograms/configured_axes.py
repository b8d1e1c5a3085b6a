"""Axes of histograms in configurations, their translation from and to `hist`, and fine ones that
other axes can be made of."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from forkrun.base.quantities import plural
from forkrun.histograms.axes import AxisKind, HistogramAxis
from forkrun.histograms.parts import HistogramSums

if TYPE_CHECKING:
    from forkrun.config.modules import AxisConfig

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

    from forkrun.histograms.hist_axes import FINE_BINS

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
    from forkrun.histograms.hist_axes import described

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
