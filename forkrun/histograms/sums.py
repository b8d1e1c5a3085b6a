"""What a histogram holds, as exact sums that can be added: of one unit, or of a whole job."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from forkrun import _core

Sums = npt.NDArray[np.float64]
Category = str | int

MOST_BYTES = 1_000_000_000
"""Size limit of the sums of one histogram: ROOT writes objects of 1 GB at most."""
MOST_AXES = 32
"""Those of boost-histogram."""
MOST_AXES_OF_PROFILE = 3
_AXIS_KEYS = {"kind", "title", "bins", "underflow", "overflow", "grows", "n_declared"}


class Storage(StrEnum):
    """Which sums are kept per bin. w: weights of fills; y: what a profile takes the mean of."""

    COUNTS = "counts"
    WEIGHTS = "weights"
    MEANS = "means"
    WEIGHTED_MEANS = "weighted means"

    @property
    def sums(self) -> tuple[str, ...]:
        """Names of the sums, in the order in which they are kept."""
        return _SUMS[self]


_SUMS: Mapping[Storage, tuple[str, ...]] = {
    Storage.COUNTS: ("w",),
    Storage.WEIGHTS: ("w", "w2"),
    Storage.MEANS: ("w", "wy", "wy2"),
    Storage.WEIGHTED_MEANS: ("w", "w2", "wy", "wy2"),
}


class AxisKind(StrEnum):
    REGULAR = "regular"
    VARIABLE = "variable"
    INTEGER = "integer"
    CATEGORY = "category"


class HistogramAxis(Struct, frozen=True, dict=True):
    """`bins`: (n_bins, low, high) of a regular axis, the edges of a variable one, (start, stop) of
    integers, the categories themselves. `grows`: fills may add bins; `n_declared`: categories that
    the module declared, which come first. Raises ValueError if ROOT could not hold it."""

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
        return len(self.bins)

    @property
    def extent(self) -> int:
        """Bins with those of under- and overflow that it has."""
        return self.n_bins + self.underflow + self.overflow

    @property
    def edges(self) -> npt.NDArray[np.float64]:
        """(n_bins + 1,)"""
        if self.kind is AxisKind.VARIABLE:
            return np.array(self.bins, dtype=np.float64)
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
        return json.dumps({key: getattr(self, key) for key in sorted(_AXIS_KEYS)})

    @classmethod
    def from_json(cls, value: Any) -> HistogramAxis:
        """Raises ValueError."""
        if not isinstance(value, dict) or value.keys() != _AXIS_KEYS:
            raise ValueError("an axis has other keys than it should")
        flags = (value["underflow"], value["overflow"], value["grows"])
        if not isinstance(value["bins"], list) or not all(type(flag) is bool for flag in flags):
            raise ValueError("an axis is not of the expected form")
        kind = AxisKind(value["kind"])
        return cls(kind, value["title"], tuple(value["bins"]), *flags, value["n_declared"])


def check_text(text: Any, what: str) -> None:
    """Raises ValueError if ROOT could not hold it."""
    if not isinstance(text, str):
        raise ValueError(f"{what} is not a text")
    if "\0" in text:
        raise ValueError(f"{what} has a NUL character in it: {text!r}")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{what} is not valid Unicode: {text!r}") from None


def check_name(name: Any) -> None:
    """Raises ValueError unless it can be an object in folders ("cuts/mass") of a ROOT file."""
    check_text(name, "the name of a histogram")
    if not all(part.strip(" .") for part in name.split("/")) or not name.isprintable():
        raise ValueError(f"a histogram, or a folder of it, cannot be called {name!r}")
    if ";" in name:  # "mass;2" is the second version of mass
        raise ValueError(f"the name of a histogram has a semicolon in it: {name!r}")


def check_names(names: Iterable[str]) -> None:
    """Raises ValueError unless all histograms of a module can be in one ROOT file."""
    taken: set[str] = set()
    for name in names:
        check_name(name)
        taken.add(name)
    for name in taken:
        folders = ["/".join(name.split("/")[:n]) for n in range(1, name.count("/") + 1)]
        for folder in folders:
            if folder in taken:
                raise ValueError(f"there cannot be both a histogram {folder!r} and {name!r}")


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
        raise ValueError("an axis of integers has no integers as its ends")
    if axis.n_bins < (0 if axis.grows else 1):
        raise ValueError("an axis needs at least one bin")


def _check_categories(axis: HistogramAxis) -> None:
    are_texts = all(type(category) is str for category in axis.bins)
    if not are_texts and not all(_is_int32(category) for category in axis.bins):
        raise ValueError("the categories of an axis are neither all texts nor all integers")
    if len(set(axis.bins)) != len(axis.bins):
        raise ValueError("a category of an axis comes twice")
    if type(axis.n_declared) is not int or not 0 <= axis.n_declared <= len(axis.bins):
        raise ValueError("an axis has fewer categories than were declared")
    for category in axis.bins if are_texts else ():
        check_text(category, "a category")


def _is_int32(value: Any) -> bool:
    return type(value) is int and -(2**31) <= value < 2**31


_CHECKS = {
    AxisKind.REGULAR: _check_regular,
    AxisKind.VARIABLE: lambda axis: _check_edges(axis.bins),
    AxisKind.INTEGER: _check_integers,
    AxisKind.CATEGORY: _check_categories,
}
_GROWING = (AxisKind.INTEGER, AxisKind.CATEGORY)


class HistogramSums(Struct):
    """`exact`: (n_sums, n_cells): the first axis runs fastest, as in ROOT; flow bins as the axes
    have them. `sparse`: the file has filled bins only, as it has of more than three axes."""

    title: str
    axes: tuple[HistogramAxis, ...]
    storage: Storage
    exact: _core.ExactSums
    sparse: bool = False

    def __post_init__(self) -> None:
        n_sums, *extents = shape_of(self.storage, self.axes)
        if (self.exact.n_sums, self.exact.n_cells) != (n_sums, math.prod(extents)):
            raise ValueError(f"sums of {self.exact.n_cells} bins do not fit the axes")

    @property
    def sums(self) -> Sums:
        """(n_sums, …, extent of axis 1, of axis 0) float64, correctly rounded."""
        return self.exact.rounded().reshape(shape_of(self.storage, self.axes))

    def copy(self) -> HistogramSums:
        return replace(self, exact=self.exact.copy())

    def add(self, other: HistogramSums) -> None:
        """Adds in place; axes that grow get the bins of both. Raises ValueError if they are not of
        the same histogram."""
        about = attrgetter("title", "storage", "sparse")
        if about(self) != about(other):
            raise ValueError("their titles or storages differ")
        if len(self.axes) != len(other.axes):
            raise ValueError("they do not have the same number of axes")
        if self.axes != other.axes:
            self.cover(other)
            other = other.copy()
            other.spread_to(self.axes)
        self.exact.merge(other.exact)

    def cover(self, other: HistogramSums) -> None:
        """Gives axes that grow the bins that the other has, too. Raises ValueError if other axes
        differ."""
        self.spread_to(tuple(_joined(*pair) for pair in zip(self.axes, other.axes, strict=True)))

    def in_order(self) -> HistogramSums:
        """The sums with categories in the order of the file: those that were declared, then those
        that fills have added, sorted; so it does not depend on which child saw which first."""
        result = self.copy()
        result.spread_to(tuple(_sorted(axis) for axis in self.axes))
        return result

    def spread_to(self, axes: tuple[HistogramAxis, ...]) -> None:
        """Moves the sums to axes that have all of its own bins."""
        if axes == self.axes:
            return
        _, *extents = shape_of(self.storage, axes)
        bins = [_places(old, new) for old, new in zip(self.axes, axes, strict=True)]
        self.exact.move_cells(flat_places(bins, extents[::-1]), math.prod(extents))
        self.axes = axes


def flat_places(
    bins: Sequence[npt.NDArray[np.intp]], extents: Sequence[int]
) -> npt.NDArray[np.uint32]:
    """(cells,) the place of each in a table with these extents; the first axis runs fastest.
    `bins`: of each axis, where its bins are in the table."""
    places, stride = np.zeros(1, dtype=np.intp), 1
    for places_of_axis, extent in zip(bins, extents, strict=True):
        places = (places_of_axis[:, np.newaxis] * stride + places).ravel()
        stride *= extent
    return places.astype(np.uint32)


def shape_of(storage: Storage, axes: Sequence[HistogramAxis]) -> tuple[int, ...]:
    """Shape of a histogram's sums. Raises ValueError if ROOT could not hold them."""
    is_profile = storage in (Storage.MEANS, Storage.WEIGHTED_MEANS)
    if not 1 <= len(axes) <= (MOST_AXES_OF_PROFILE if is_profile else MOST_AXES):
        raise ValueError(
            f"it has {len(axes)} axes; {MOST_AXES} at most can be written to ROOT files, and"
            f" {MOST_AXES_OF_PROFILE} of a profile"
        )
    shape = (len(storage.sums), *(axis.extent for axis in reversed(axes)))
    in_root = 8 * len(storage.sums) * math.prod(axis.n_bins + 2 for axis in axes)
    if in_root > MOST_BYTES:
        raise ValueError(
            f"it takes {in_root / 1e9:.1f} GB; objects of {MOST_BYTES / 1e9:.0f} GB at most can be"
            " written to ROOT files"
        )
    return shape


def check_sparse(storage: Storage, sparse: bool) -> None:
    """Raises ValueError if ROOT has no object for it."""
    if sparse and storage in (Storage.MEANS, Storage.WEIGHTED_MEANS):
        raise ValueError("ROOT has no sparse profile")


def _joined(one: HistogramAxis, other: HistogramAxis) -> HistogramAxis:
    if one == other:
        return one
    if not one.grows or replace(one, bins=other.bins) != other:
        raise ValueError(f'their axes "{one.title}" differ')
    if one.kind is AxisKind.INTEGER:
        return _hull(one, other)
    declared = one.bins[: one.n_declared]
    if other.bins[: other.n_declared] != declared:
        raise ValueError(f'their axes "{one.title}" were declared with different categories')
    return replace(one, bins=tuple(dict.fromkeys((*one.bins, *other.bins))))


def _hull(one: HistogramAxis, other: HistogramAxis) -> HistogramAxis:
    filled = [axis.bins for axis in (one, other) if axis.n_bins] or [one.bins]
    return replace(one, bins=(min(b[0] for b in filled), max(b[1] for b in filled)))


def _sorted(axis: HistogramAxis) -> HistogramAxis:
    if axis.kind is not AxisKind.CATEGORY or not axis.grows:
        return axis
    declared, grown = axis.bins[: axis.n_declared], axis.bins[axis.n_declared :]
    return replace(axis, bins=(*declared, *sorted(grown)))


def _places(old: HistogramAxis, new: HistogramAxis) -> npt.NDArray[np.intp]:
    """(bins of `old`,) the place of each in `new`."""
    if old is new or old == new:
        return np.arange(old.extent)
    if old.kind is AxisKind.INTEGER:
        first = int(old.bins[0] - new.bins[0])
        return np.arange(first, first + old.n_bins)
    place = {category: n for n, category in enumerate(new.bins)}
    return np.array([place[category] for category in old.bins], dtype=np.intp)
