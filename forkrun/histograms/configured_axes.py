"""Axes of histograms in configurations, and their translation from and to `hist`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NAMES = ("name", "label")


def make_axis(given: Mapping[str, Any], number: int, histogram: str) -> Any:
    """An axis of `hist`. `given`: bins, low and high; or edges; start and stop; categories."""
    import hist  # takes 50 ms, not needed to describe an axis

    values = dict(given)
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
