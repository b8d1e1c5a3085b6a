"""Histograms that a Python module has booked: checked when they are, taken after every unit."""

from __future__ import annotations

from typing import Any

import boost_histogram as bh

from forkrun.errors import JobError
from forkrun.histograms.exactly_filled import exactly_filled
from forkrun.histograms.sums import (
    AxisKind,
    HistogramAxis,
    HistogramSums,
    Storage,
    check_sparse,
    check_text,
    shape_of,
)

_STORAGES: tuple[tuple[type[bh.storage.Storage], Storage], ...] = (
    (bh.storage.Double, Storage.COUNTS),
    (bh.storage.Int64, Storage.COUNTS),
    (bh.storage.AtomicInt64, Storage.COUNTS),
    (bh.storage.Unlimited, Storage.COUNTS),
    (bh.storage.Weight, Storage.WEIGHTS),
    (bh.storage.Mean, Storage.MEANS),
    (bh.storage.WeightedMean, Storage.WEIGHTED_MEANS),
)


class BookedHistogram:
    """A hist.Hist or boost_histogram.Histogram, which its module fills. Raises ValueError or
    TypeError, which say why, if it cannot be written to a ROOT file or be summed over units."""

    def __init__(self, name: str, histogram: Any, sparse: bool = False) -> None:
        if not isinstance(histogram, bh.Histogram):
            kind = type(histogram).__name__
            raise TypeError(
                f"histogram {name!r} is a {kind}; book a hist.Hist or boost_histogram.Histogram"
            )
        self.histogram = histogram
        self._name = name
        self._sparse = sparse
        try:
            self._title = _title(histogram)
            self._storage = _storage(histogram)
            self._declared = tuple(_axis(axis) for axis in histogram.axes)
            shape_of(self._storage, self._declared)
            check_sparse(self._storage, sparse)
        except ValueError as error:
            raise ValueError(f"histogram {name!r}: {error}") from None
        grows = any(axis.grows for axis in self._declared)
        self._as_declared = histogram.copy().reset() if grows else None
        self._fills = exactly_filled(histogram, self._storage)

    def take(self, module: str) -> HistogramSums:
        """What it holds, as a copy. Raises JobError, with the label of the module, if it cannot be
        written any more: what has grown is seen here for the first time."""
        try:
            return HistogramSums(
                self._title, self._axes(), self._storage, self._fills.total(), self._sparse
            )
        except ValueError as error:
            raise JobError(f"histogram {module}/{self._name}: {error}") from None

    def clear(self) -> None:
        """Empties it. Categories that fills have added go as well: the next unit's are its own."""
        if self._as_declared is None or self.histogram.shape == self._as_declared.shape:
            self.histogram.reset()
            return
        # The only way to put a histogram back in place: other references to it see it empty.
        self.histogram.__setstate__((0, {"_hist": self._as_declared.copy()._hist}))

    def _axes(self) -> tuple[HistogramAxis, ...]:
        if self._as_declared is None:
            return self._declared
        return tuple(
            _axis(axis, declared) if declared.grows else declared
            for axis, declared in zip(self.histogram.axes, self._declared, strict=True)
        )


def _title(histogram: bh.Histogram[Any]) -> str:
    title = getattr(histogram, "label", None) or getattr(histogram, "name", None) or ""
    check_text(str(title), "its title")
    return str(title)


def _storage(histogram: bh.Histogram[Any]) -> Storage:
    for kind, storage in _STORAGES:
        if issubclass(histogram.storage_type, kind):
            return storage
    known = ", ".join(kind.__name__ for kind, _ in _STORAGES)
    raise ValueError(
        f"ROOT has no equivalent of the storage {histogram.storage_type.__name__}; use one of"
        f" {known}"
    )


def _axis(axis: Any, declared: HistogramAxis | None = None) -> HistogramAxis:
    """`declared`: as it was when it was booked, None if that is now."""
    kind, bins = _bins(axis)
    title, traits = str(getattr(axis, "label", "") or ""), axis.traits
    if traits.growth and kind in (AxisKind.REGULAR, AxisKind.VARIABLE):
        raise ValueError(
            f"the axis {title or axis!r} grows: where its new edges are depends on the order of"
            " fills, so those of several units cannot be added; only Integer, StrCategory and"
            " IntCategory may grow"
        )
    n_declared = 0
    if kind is AxisKind.CATEGORY:
        n_declared = declared.n_declared if declared else len(bins)
    return HistogramAxis(
        kind, title, bins, traits.underflow, traits.overflow, traits.growth, n_declared
    )


def _bins(axis: Any) -> tuple[AxisKind, tuple[Any, ...]]:
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
