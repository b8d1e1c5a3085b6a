"""Differences between the results of two layouts, to the last bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from forkrun.formats.plain import inner_of
from forkrun.histograms.sums import HistogramSums
from forkrun.studies.blocks.layouts import Column, EventIds, Results


class Difference(Struct, frozen=True):
    """`module`: its label; `what`: the differing result, in words. `place`: index of the first
    differing event among all events; None: unknown, for example for a histogram, which is a sum."""

    module: str
    what: str
    place: int | None


def differences(
    one: Results, other: Results, columns_of: Mapping[str, Sequence[str]]
) -> Iterator[Difference]:
    """Differing results of modules. `columns_of`: the columns that each module makes."""
    for module, names in columns_of.items():
        for name in names:
            place = first_difference(one.columns[name], other.columns[name])
            if place is not None:
                yield Difference(module, f"column {name}", place)
    for module, accepted in one.accepted.items():
        place = first_decision(accepted, other.accepted[module], one.ids)
        if place is not None:
            yield Difference(module, "its decision", place)
    for key in dict.fromkeys([*one.histograms, *other.histograms]):
        if not is_same(one.histograms.get(key), other.histograms.get(key)):
            yield Difference(key[0], f"histogram {key[1]}", None)


def first_difference(one: Column, other: Column) -> int | None:
    """The first event for which two columns differ in a bit; None if they are equal."""
    if not isinstance(one, tuple) or not isinstance(other, tuple):
        differs = _bits(np.asarray(one)) != _bits(np.asarray(other))
        return _first(differs.any(axis=tuple(range(1, differs.ndim))))
    of_counts = _first(np.diff(one[0]) != np.diff(other[0]))
    n_alike = int(one[0][-1] if of_counts is None else one[0][of_counts])
    place = first_difference(_first_items(one, n_alike), _first_items(other, n_alike))
    if place is None:
        return of_counts
    return int(np.searchsorted(one[0], place, side="right")) - 1


def _first_items(lists: Column, n: int) -> Column:
    """The first n items in the lists."""
    inner = inner_of(lists)
    if not isinstance(inner, tuple):
        return inner[:n]
    return inner[0][: n + 1], *inner[1:]


def _bits(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same memory as integers: a NaN equals itself, and 0 is not -0."""
    return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")


def _first(differs: npt.NDArray[np.bool_]) -> int | None:
    places = np.flatnonzero(differs)
    return int(places[0]) if len(places) else None


def first_decision(one: EventIds, other: EventIds, ids: EventIds) -> int | None:
    """The first of all events, `ids`, that one has accepted and the other has not; None if they
    agree. Each : (n, 3), in the order of all events."""
    masks = (_accepted(accepted, ids) for accepted in (one, other))
    return _first(next(masks) != next(masks))


def _accepted(accepted: EventIds, ids: EventIds) -> npt.NDArray[np.bool_]:
    """(n_events,) mask of these events; among events with equal ids, the first ones."""
    mask = np.zeros(len(ids), dtype=np.bool_)
    rows, n_taken = accepted.tolist(), 0
    for place, row in enumerate(ids.tolist()):
        if n_taken < len(rows) and row == rows[n_taken]:
            mask[place], n_taken = True, n_taken + 1
    return mask


def is_same(one: HistogramSums | None, other: HistogramSums | None) -> bool:
    """Whether all bins are the same, to the last written bit."""
    if one is None or other is None:
        return one is other
    return one.axes == other.axes and one.sums.tobytes() == other.sums.tobytes()


def first_place(differs: Callable[[int], bool], n_events: int) -> int:
    """Place of an event at which a difference appears: the first n events show it, the first n - 1
    do not. Tries few events first. `differs(n)` tests the first n; true for all events."""
    same, different = 0, 1
    while different < n_events and not differs(different):
        same, different = different, 2 * different
    different = min(different, n_events)
    while different - same > 1:
        middle = (same + different) // 2
        same, different = (same, middle) if differs(middle) else (middle, different)
    return different - 1
