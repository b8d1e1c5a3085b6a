"""Content of a histogram as exact sums that can be added: of one unit, or of a whole job."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from forkrun import _core
from forkrun.base.quantities import plural
from forkrun.histograms.axes import HistogramAxis, check_text

Sums = npt.NDArray[np.float64]

MOST_BYTES = 1_000_000_000
"""Size limit of the sums of one histogram: ROOT writes objects of 1 GB at most."""
MOST_AXES = 32
"""Limit of boost-histogram."""
MOST_AXES_OF_PROFILE = 3


class Storage(StrEnum):
    """Sums kept per bin. w: weights of fills; y: the averaged values of a profile."""

    COUNTS = "counts"
    WEIGHTS = "weights"
    MEANS = "means"
    WEIGHTED_MEANS = "weighted means"

    @property
    def is_profile(self) -> bool:
        return self in (Storage.MEANS, Storage.WEIGHTED_MEANS)

    @property
    def has_squares(self) -> bool:
        """Whether sums of squared weights are kept."""
        return self in (Storage.WEIGHTS, Storage.WEIGHTED_MEANS)

    @property
    def sums(self) -> tuple[str, ...]:
        """Names of the sums, in the order in which they are kept."""
        squares, samples = ("w2",) * self.has_squares, ("wy", "wy2") * self.is_profile
        return ("w", *squares, *samples)


def check_name(name: Any) -> None:
    """Raises ValueError unless it can name an object in folders ("cuts/mass") of a ROOT file."""
    check_text(name, "the name of a histogram")
    if not all(part.strip(" .") for part in name.split("/")) or not name.isprintable():
        raise ValueError(f"a histogram, or a folder of it, cannot be called {name!r}")
    if ";" in name:  # "mass;2" is the second version of mass
        raise ValueError(f"the name of a histogram contains a semicolon: {name!r}")


class HistogramNames:
    """Names of a module's histograms, which are in folders of one ROOT file."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._within: dict[str, str] = {}  # a histogram in each folder

    def add(self, name: str) -> None:
        """Adds a name. Raises ValueError unless it can be in one file with the others."""
        check_name(name)
        parts = name.split("/")
        folders = ["/".join(parts[:n]) for n in range(1, len(parts))]
        pairs = [(folder, name) for folder in folders if folder in self._taken]
        if name in self._within:
            pairs.append((name, self._within[name]))
        for folder, inside in pairs:
            raise ValueError(f"there cannot be both a histogram {folder!r} and {inside!r}")
        self._taken.add(name)
        self._within.update(dict.fromkeys(folders, name))


class HistogramSums(Struct):
    """`exact`: (n_sums, n_cells): the first axis runs fastest, as in ROOT; flow bins as in the
    axes. `sparse`: the file has filled bins only, as for more than three axes."""

    title: str
    axes: tuple[HistogramAxis, ...]
    storage: Storage
    exact: _core.ExactSums
    sparse: bool = False

    def __post_init__(self) -> None:
        n_sums, *extents = shape_of(self.storage, self.axes)
        if (self.exact.n_sums, self.exact.n_cells) != (n_sums, math.prod(extents)):
            raise ValueError(f"sums of {plural(self.exact.n_cells, 'bin')} do not fit the axes")

    @property
    def sums(self) -> Sums:
        """(n_sums, …, extent of axis 1, of axis 0) float64, correctly rounded."""
        return self.exact.rounded().reshape(shape_of(self.storage, self.axes))

    def copy(self) -> HistogramSums:
        return replace(self, exact=self.exact.copy())

    def add(self, other: HistogramSums) -> None:
        """Adds in place; growing axes get the bins of both. Raises ValueError for sums of another
        histogram."""
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
        """Adds the other's bins to growing axes. Raises ValueError if other axes differ."""
        pairs = zip(self.axes, other.axes, strict=True)
        self.spread_to(tuple(one.joined(another) for one, another in pairs))

    def in_order(self) -> HistogramSums:
        """The sums with categories in the order of the file: declared ones, then sorted ones of
        fills; independent of the order in which children saw them."""
        result = self.copy()
        result.spread_to(tuple(axis.in_order() for axis in self.axes))
        return result

    def spread_to(self, axes: tuple[HistogramAxis, ...]) -> None:
        """Moves the sums to axes that contain all present bins."""
        if axes != self.axes:
            pairs = zip(self.axes, axes, strict=True)
            self.move_to(axes, [old.places_in(new) for old, new in pairs])

    def move_to(
        self, axes: tuple[HistogramAxis, ...], places: Sequence[npt.NDArray[np.intp]]
    ) -> None:
        """Moves the sums to other axes, whose sums of several bins may be added. `places`: for each
        new axis (extent,) the new index of each present bin; one for an axis that is added."""
        _, *extents = shape_of(self.storage, axes)
        cells, stride = np.zeros(1, dtype=np.intp), 1
        for one, new in zip(places, axes, strict=True):
            cells = (one[:, np.newaxis] * stride + cells).ravel()
            stride *= new.extent
        self.exact.move_cells(cells.astype(np.uint32), math.prod(extents))
        self.axes = axes


def shape_of(storage: Storage, axes: Sequence[HistogramAxis]) -> tuple[int, ...]:
    """Shape of a histogram's sums. Raises ValueError if ROOT cannot store them."""
    if not 1 <= len(axes) <= (MOST_AXES_OF_PROFILE if storage.is_profile else MOST_AXES):
        raise ValueError(
            f"it has {plural(len(axes), 'axis')}; {MOST_AXES} at most can be written to ROOT files,"
            f" and {MOST_AXES_OF_PROFILE} of a profile"
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
    """Raises ValueError if ROOT has no such object."""
    if sparse and storage.is_profile:
        raise ValueError("ROOT has no sparse profile")
