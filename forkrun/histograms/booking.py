"""Histograms booked by a Python module: checked when booked, collected after every unit."""

from __future__ import annotations

import weakref
from typing import Any

import boost_histogram as bh
import hist

from forkrun.errors import JobError
from forkrun.histograms.axes import check_text
from forkrun.histograms.booked_class import exactly_filled
from forkrun.histograms.exact_fills import ExactFills
from forkrun.histograms.hist_axes import described
from forkrun.histograms.sums import HistogramSums, Storage, check_sparse, shape_of

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
    """A hist.Hist or boost_histogram.Histogram. `histogram`: the object that the module fills, of a
    class derived from that of the given one. Raises ValueError or TypeError, with the reason, if it
    cannot be written to a ROOT file or summed over units."""

    def __init__(self, name: str, histogram: Any, sparse: bool = False) -> None:
        if not isinstance(histogram, bh.Histogram):
            kind = type(histogram).__name__
            raise TypeError(
                f"histogram {name!r} is a {kind}; book a hist.Hist or boost_histogram.Histogram"
            )
        self._name = name
        self._sparse = sparse
        try:
            self._title = _title(histogram)
            self._storage = _storage(histogram)
            shape_of(self._storage, [described(axis) for axis in histogram.axes])
            check_sparse(self._storage, sparse)
        except ValueError as error:
            raise ValueError(f"histogram {name!r}: {error}") from None
        self.histogram = exactly_filled(histogram, self._storage)
        self._given: Any = None
        if isinstance(histogram, hist.BaseHist) and histogram.empty(flow=True):
            self._given = weakref.ref(histogram)

    @property
    def fills(self) -> ExactFills:
        fills: ExactFills = self.histogram._forkrun_fills
        return fills

    def take(self, module: str) -> HistogramSums:
        """A copy of the content. Raises JobError, with the label of the module, if it can no longer
        be written, or if the given histogram was filled instead."""
        given = self._given and self._given()
        if given is not None and not given.empty(flow=True):
            raise JobError(
                f"histogram {module}/{self._name}: its module fills the histogram given to"
                f' book() instead of the returned one: h = self.book("{self._name}", h)'
            )
        total = self.fills.total()
        try:
            return HistogramSums(self._title, self.fills.axes, self._storage, total, self._sparse)
        except ValueError as error:
            raise JobError(f"histogram {module}/{self._name}: {error}") from None

    def clear(self) -> None:
        """Empties it and removes categories added by fills: each unit has its own."""
        self.fills.clear_axes()


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
