"""Axes of histograms in forkrun's own form, next to those of `hist` and of the core."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from enum import StrEnum
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

N_PARTS = 20
"""Bins of a fine axis for each one of the axis that it is made for."""
_N_ULP = 16
"""Distance from an edge within which rounding may decide [last digits of the largest edge]."""
_MOST_SPLIT = 10_000
_KEYS = ("bins", "grows", "kind", "n_declared", "overflow", "title", "underflow")


class AxisKind(StrEnum):
    REGULAR = "regular"
    VARIABLE = "variable"
    INTEGER = "integer"
    CATEGORY = "category"
    FINE = "fine"


class HistogramAxis(Struct, frozen=True, dict=True):
    """`bins`: (n_bins, low, high) of a regular axis, the edges of a variable one, (start, stop) of
    integers, the categories themselves; kind and bins of the axis that a fine one is made for.
    `grows`: fills may add bins; `n_declared`: number of
    categories declared by the module, which come first. Raises ValueError if ROOT cannot store
    it."""

    kind: AxisKind
    title: str
    bins: tuple[Any, ...]
    underflow: bool = True
    overflow: bool = True
    grows: bool = False
    n_declared: int = 0

    def __post_init__(self) -> None:
        check_text(self.title, "the title of an axis")
        _CHECKS[self.kind](self)
        if self.grows and (self.kind not in _GROWING or self.underflow or self.overflow):
            raise ValueError(f"a {self.kind} axis cannot grow")

    @cached_property
    def n_bins(self) -> int:
        match self.kind:
            case AxisKind.REGULAR:
                return int(self.bins[0])
            case AxisKind.VARIABLE:
                return len(self.bins) - 1
            case AxisKind.INTEGER:
                return int(self.bins[1] - self.bins[0])
            case AxisKind.FINE:
                return len(self.edges) - 1
        return len(self.bins)

    @property
    def extent(self) -> int:
        """Number of bins, including existing underflow and overflow."""
        return self.n_bins + self.underflow + self.overflow

    @property
    def edges(self) -> npt.NDArray[np.float64]:
        """(n_bins + 1,)"""
        if self.kind is AxisKind.VARIABLE:
            return np.array(self.bins, dtype=np.float64)
        if self.kind is AxisKind.FINE:
            return fine_edges(self.bins)
        if self.kind is AxisKind.REGULAR:
            return np.linspace(self.bins[1], self.bins[2], self.n_bins + 1)
        first = self.bins[0] if self.kind is AxisKind.INTEGER else 0
        return np.arange(first, first + self.n_bins + 1, dtype=np.float64)

    @property
    def labels(self) -> list[str]:
        """Labels of the bins of a category axis; empty for other axes."""
        return [str(c) for c in self.bins] if self.kind is AxisKind.CATEGORY else []

    @cached_property
    def as_json(self) -> str:
        """Inverse of `from_json`."""
        return json.dumps({key: getattr(self, key) for key in _KEYS})

    @classmethod
    def from_json(cls, value: Any) -> HistogramAxis:
        """Raises ValueError."""
        if not isinstance(value, dict) or sorted(value) != list(_KEYS):
            raise ValueError("an axis has unexpected keys")
        flags = (value["underflow"], value["overflow"], value["grows"])
        if not isinstance(value["bins"], list) or not all(type(flag) is bool for flag in flags):
            raise ValueError("an axis does not have the expected form")
        kind = AxisKind(value["kind"])
        return cls(kind, value["title"], tuple(value["bins"]), *flags, value["n_declared"])

    def joined(self, other: HistogramAxis) -> HistogramAxis:
        """The axis with the bins of both. Raises ValueError if they differ otherwise."""
        if self == other:
            return self
        if not self.grows or replace(self, bins=other.bins) != other:
            raise ValueError(f'their axes "{self.title}" differ')
        if self.kind is AxisKind.INTEGER:
            filled = [axis.bins for axis in (self, other) if axis.n_bins] or [self.bins]
            return replace(self, bins=(min(b[0] for b in filled), max(b[1] for b in filled)))
        if other.bins[: other.n_declared] != self.bins[: self.n_declared]:
            raise ValueError(f'their axes "{self.title}" were declared with different categories')
        return replace(self, bins=tuple(dict.fromkeys((*self.bins, *other.bins))))

    def in_order(self) -> HistogramAxis:
        """The axis with sorted categories of fills after the declared ones."""
        if self.kind is not AxisKind.CATEGORY or not self.grows:
            return self
        declared, grown = self.bins[: self.n_declared], self.bins[self.n_declared :]
        return replace(self, bins=(*declared, *sorted(grown)))

    def places_in(self, other: HistogramAxis) -> npt.NDArray[np.intp]:
        """(extent,) index of each bin in an axis that has them all."""
        if self == other:
            return np.arange(self.extent)
        if self.kind is AxisKind.INTEGER:
            first = int(self.bins[0] - other.bins[0])
            return np.arange(first, first + self.n_bins)
        place = {category: n for n, category in enumerate(other.bins)}
        return np.array([place[category] for category in self.bins], dtype=np.intp)


def check_text(text: Any, what: str) -> None:
    """Raises ValueError if ROOT cannot store the text."""
    if not isinstance(text, str):
        raise ValueError(f"{what} is not a text")
    if "\0" in text:
        raise ValueError(f"{what} contains a NUL character: {text!r}")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{what} is not valid Unicode: {text!r}") from None


def _check_edges(edges: Sequence[Any]) -> None:
    if not all(type(edge) in (int, float) for edge in edges):
        raise ValueError("the edges of an axis are not numbers")
    if any(math.isnan(edge) for edge in edges) or len(edges) < 2:
        raise ValueError("an axis needs at least one bin")
    if not all(low < high for low, high in pairwise(edges)):
        raise ValueError("the edges of an axis do not increase (in float64)")


def _check_regular(axis: HistogramAxis) -> None:
    if len(axis.bins) != 3 or type(axis.bins[0]) is not int or axis.bins[0] < 1:
        raise ValueError("a regular axis needs at least one bin")
    _check_edges(axis.bins[1:])
    n_bins, low, high = axis.bins
    resolution = math.ulp(max(abs(low), abs(high)))
    if not (math.isfinite(high - low) and (high - low) / n_bins > 4 * resolution):
        raise ValueError("the edges of an axis do not increase (in float64)")


def _check_integers(axis: HistogramAxis) -> None:
    if len(axis.bins) != 2 or not all(_is_int32(n) for n in axis.bins):
        raise ValueError("an axis of integers needs integers as its ends")
    if axis.n_bins < (0 if axis.grows else 1):
        raise ValueError("an axis needs at least one bin")


def _check_categories(axis: HistogramAxis) -> None:
    are_texts = all(type(category) is str for category in axis.bins)
    if not are_texts and not all(_is_int32(category) for category in axis.bins):
        raise ValueError("the categories of an axis are neither all texts nor all integers")
    if len(set(axis.bins)) != len(axis.bins):
        raise ValueError("a category of an axis occurs twice")
    if type(axis.n_declared) is not int or not 0 <= axis.n_declared <= len(axis.bins):
        raise ValueError("an axis has fewer categories than were declared")
    for category in axis.bins if are_texts else ():
        check_text(category, "a category")


def _is_int32(value: Any) -> bool:
    return type(value) is int and -(2**31) <= value < 2**31


def _check_fine(axis: HistogramAxis) -> None:
    kind, *bins = axis.bins or ("",)
    if kind not in _SPLIT:
        raise ValueError("only axes with bins, low and high (not log), or edges have finer bins")
    HistogramAxis(AxisKind(kind), axis.title, tuple(bins))
    if not any(map(math.isfinite, bins)):
        raise ValueError("an axis without finite edges has no finer bins")
    n_bins = bins[0] if kind == AxisKind.REGULAR else len(bins)
    if n_bins > _MOST_SPLIT:
        raise ValueError(f"axes with more than {_MOST_SPLIT:,} bins have no finer ones")


@lru_cache(maxsize=64)
def fine_edges(bins: tuple[Any, ...]) -> npt.NDArray[np.float64]:
    """Edges of the fine axis for an axis with this kind and `bins`. Each of its bins is split in
    20; narrow bins around all edges separate the values for which rounding decides in which bin of
    an axis they are: boost_histogram multiplies, and does not compare with edges."""
    kind, *given = bins
    is_regular = kind == AxisKind.REGULAR
    n_parts, ends = (given[0] * N_PARTS, given[1:]) if is_regular else (N_PARTS, given)
    exact = [Fraction(str(edge)) for edge in ends if math.isfinite(edge)]  # as written, in decimals
    steps = [(low, (high - low) / n_parts) for low, high in pairwise(exact)]
    split = [low + step * k for low, step in steps for k in range(n_parts)]
    edges = np.array([*map(float, split), float(exact[-1])])
    near = _N_ULP * float(np.spacing(np.abs(edges).max()))
    own = np.array(ends, np.float64)
    if is_regular:
        n_bins, low, high = given
        own = _first_values(n_bins, float(low), float(high), edges[::N_PARTS], near)
    around = (edges - near, edges, np.nextafter(edges, math.inf), edges + near)
    return np.unique(np.concatenate([own, *around]))


def _first_values(
    n_bins: int, low: float, high: float, edges: npt.NDArray[np.float64], near: float
) -> npt.NDArray[np.float64]:
    """The lowest value in each bin of a regular axis, and in its overflow. `edges`: within `near`
    of these."""
    below, above = edges - near, edges + near
    while True:
        middle = (below + above) / 2
        if ((middle == below) | (middle == above)).all():
            return above
        is_in = (middle - low) / (high - low) * n_bins >= np.arange(n_bins + 1)
        below, above = np.where(is_in, below, middle), np.where(is_in, middle, above)


_CHECKS = {
    AxisKind.REGULAR: _check_regular,
    AxisKind.VARIABLE: lambda axis: _check_edges(axis.bins),
    AxisKind.INTEGER: _check_integers,
    AxisKind.CATEGORY: _check_categories,
    AxisKind.FINE: _check_fine,
}
_SPLIT = (AxisKind.REGULAR, AxisKind.VARIABLE)
_GROWING = (AxisKind.INTEGER, AxisKind.CATEGORY)
