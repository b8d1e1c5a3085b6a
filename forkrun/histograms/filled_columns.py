"""Fills of histograms without user code: values and weights of events, as columns with one entry
per fill."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from forkrun.base.awkward_array import ak, is_awkward, with_none
from forkrun.base.quantities import plural


class Given(NamedTuple):
    """Sources of values and weights, for messages: `"Jet_pt[0]"`, `leading_pt()`."""

    what: str
    weight: str


def fill_events(histogram: Any, values: Any, weight: Any, n_events: int, given: Given) -> None:
    """Fills the values of these events. `values`: a number per event, or for all, or any number per
    event; a tuple of such for several axes. `weight`: None; a number per event, or for all; one per
    value; or (n_events, n_variations), where a category axis gets the names of the variations.
    Raises ValueError."""
    columns = [_known(c) for c in (values if isinstance(values, tuple) else (values,))]
    n_axes = len(histogram.axes)
    if len(columns) != n_axes:
        raise ValueError(
            f"the histogram has {plural(n_axes, 'axis')}, and got {plural(len(columns), 'column')}"
        )
    weight = _known(weight)
    if (number := _names_of_variations(columns, weight)) is not None:
        _check_lengths([c for n, c in enumerate(columns) if n != number], weight, n_events, given)
        _fill_varied(histogram, columns, number, weight, n_events)
        return
    columns = [_per_event(column, n_events) for column in columns]
    if weight is None:
        histogram.fill(*flattened(columns))
        return
    if _is_one(weight):
        flat = flattened(columns)
        histogram.fill(*flat, weight=np.full(len(flat[0]), weight, np.float64))
        return
    _check_lengths(columns, weight, n_events, given)
    _check_weight(columns, weight)
    *flat, weights = flattened([*columns, weight])
    histogram.fill(*flat, weight=weights)


def returned_of(argument: str, value: Any) -> Any:
    """Returned value of a function. Raises ValueError for None."""
    if value is None:
        raise ValueError(f"the function of {argument} returned None; `return` may be missing")
    return value


def flattened(columns: Sequence[Any]) -> list[Any]:
    """Columns with one value per fill: a number per event is repeated for each element of a list in
    another column; entries with a missing value are dropped."""
    if all(isinstance(column, np.ndarray) for column in columns):
        if len({column.shape for column in columns}) == 1:
            return [column.ravel() for column in columns]
        columns = [ak.from_numpy(column, regulararray=True) for column in columns]
    if len(columns) == 1:
        return [ak.to_numpy(ak.flatten(columns[0], axis=None))]
    together = ak.broadcast_arrays(*columns)  # missing in one column: missing in all
    return [ak.to_numpy(ak.flatten(column, axis=None)) for column in together]


def _known(column: Any) -> Any:
    return with_none(column) if isinstance(column, np.ndarray) else column


def _per_event(column: Any, n_events: int) -> Any:
    return np.full(n_events, column) if _is_one(column) else column


def _is_one(value: Any) -> bool:
    """Whether the value is a number or text for all events."""
    return isinstance(value, str | int | float | np.generic) or (
        isinstance(value, np.ndarray) and value.ndim == 0
    )


def _n_levels(column: Any) -> int:
    """Depth of a column. 1: a number or text per event; 2: a list of these, or an array; 3: a list
    of lists."""
    if isinstance(column, np.ndarray):
        return int(column.ndim)
    return int((column if is_awkward(column) else ak.Array(column)).ndim)


def _check_lengths(columns: Sequence[Any], weight: Any, n_events: int, given: Given) -> None:
    """Raises ValueError unless values and weights have one entry for each event, or one for all."""
    n_weights, n_values = len(weight), [len(c) for c in columns if not _is_one(c)]
    if n_weights == n_events and all(n == n_events for n in n_values):
        return
    got = " and ".join(plural(n, "value") for n in dict.fromkeys(n_values)) or "one value for all"
    raise ValueError(
        f"{given.what} gave {got} and the weight {given.weight} {n_weights:,}, for"
        f" {plural(n_events, 'event')}: give a value and a weight, or a list of either, for each"
        " event; None, or an empty list, leaves one out"
    )


def _check_weight(columns: Sequence[Any], weight: Any) -> None:
    """Raises ValueError for weights nested deeper than the values: values would be filled
    repeatedly."""
    n_levels, n_most = _n_levels(weight), max(map(_n_levels, columns))
    if n_levels <= n_most:
        return
    forms = {1: "one value", 2: "a list", 3: "a list of lists"}
    raise ValueError(
        f"the weight has {forms.get(n_levels, 'nested lists')} per event, and the filled values "
        f"have {forms.get(n_most, 'nested lists')}: each would be filled repeatedly; take one of "
        "each list, x[0], or their product, prod(x); for variations the names of a category axis"
        ' are a column: return met, ["nominal", "up"]'
    )


def _names_of_variations(columns: Sequence[Any], weight: Any) -> int | None:
    """Number of the column with the names of variations for weights (n_events, n_variations), if
    any."""
    if weight is None or _is_one(weight) or _n_levels(weight) != 2:
        return None
    names = [
        number
        for number, column in enumerate(columns)
        if isinstance(column, list | tuple) and all(isinstance(name, str) for name in column)
    ]
    return names[0] if len(names) == 1 else None


def _fill_varied(
    histogram: Any, columns: Sequence[Any], number: int, weight: Any, n_events: int
) -> None:
    """Fills each entry with all weights of its event. `number`: of the column of names."""
    weights = np.asarray(ak.to_numpy(weight, allow_missing=False))
    others = [_per_event(c, n_events) for n, c in enumerate(columns) if n != number]
    *flat, event = flattened([*others, np.arange(n_events)])
    flat.insert(number, list(columns[number]))
    histogram.fill(*flat, weight=weights[event])
