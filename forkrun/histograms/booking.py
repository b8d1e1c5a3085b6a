"""Histograms booked by a Python module: checked when booked, collected after every unit. Their
class is derived from that of the given histogram: fills are summed exactly. All methods that read
or write a histogram access its content as `_hist`, here as well."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import boost_histogram as bh
import hist
import numpy as np
import numpy.typing as npt

from forkrun.base.awkward_array import ak, is_awkward, is_masked
from forkrun.errors import JobError
from forkrun.histograms.axes import check_text
from forkrun.histograms.exact_fills import ExactFills
from forkrun.histograms.hist_axes import described
from forkrun.histograms.parts import HistogramSums, Storage, check_sparse, shape_of


class _Booked:
    """Methods of a booked histogram that differ from its base class."""

    __slots__ = ()
    _forkrun_fills: ExactFills
    _forkrun_plain: Any

    @property
    def _hist(self) -> Any:
        return self._forkrun_fills.content()

    @_hist.setter
    def _hist(self, content: Any) -> None:
        self._forkrun_fills.replace(content)

    def fill(
        self, *args: Any, weight: Any = None, sample: Any = None, threads: Any = None, **axes: Any
    ) -> Any:
        if any(map(_may_lack, (*args, weight, sample, *axes.values()))):
            weight, sample, *others = _without_none([weight, sample, *args, *axes.values()])
            args, values = tuple(others[: len(args)]), others[len(args) :]
            axes = dict(zip(axes, values, strict=True))
        fills = self._forkrun_fills
        if weight is not None and fills.counts:
            self.__dict__["_variance_known"] = False  # like the class
        if fills.fill_plainly(args, weight, sample, axes):
            return self
        if not fills.fill(args, weight, sample, axes):
            options = {"weight": weight, "sample": sample, "threads": threads}
            fills.run_on_content(super().fill, *args, **options, **axes)  # type: ignore[misc]
        return self

    def reset(self) -> Any:
        self._forkrun_fills.clear()
        return self

    def __iadd__(self, other: Any) -> Any:
        return self._combine(super().__iadd__, other)  # type: ignore[misc]

    def __isub__(self, other: Any) -> Any:
        return self._combine(super().__isub__, other)  # type: ignore[misc]

    def _combine(self, operation: Callable[[Any], Any], other: Any) -> Any:
        """Combines exactly with another histogram, else by the class's `operation`."""
        if not isinstance(other, bh.Histogram):
            return operation(other)
        self._forkrun_fills.run_on_content(operation, other.copy())  # may be this one
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _identity, (copy.deepcopy(self),)

    def __new__(cls, *args: Any, **options: Any) -> Any:
        """New objects of the class are plain."""
        return cls._forkrun_plain(*args, **options)

    @classmethod
    def _clone(cls, *args: Any, **options: Any) -> Any:
        return cls._forkrun_plain._clone(*args, **options)

    @classmethod
    def _export_bh_(cls, other: Any) -> None:
        """Called for an `other` made from this one, which still shares its content."""
        other._hist = copy.copy(other._hist)
        other.axes = other._generate_axes_()


def _may_lack(column: Any) -> bool:
    """Whether some values may be None."""
    return is_masked(column) or (is_awkward(column) and column.layout.is_option)


def _without_none(columns: Sequence[Any]) -> list[Any]:
    """Columns without entries that have a missing value in any column: these are not filled."""
    lacks = [_missing(column) for column in columns if _may_lack(column)]
    known = ~np.logical_or.reduce(lacks)
    return [_chosen(column, known) for column in columns]


def _missing(column: Any) -> npt.NDArray[np.bool_]:
    """(n_entries,)"""
    if is_awkward(column):
        return np.asarray(ak.is_none(column))
    masked: npt.NDArray[np.bool_] = np.ma.getmaskarray(column)
    return masked if masked.ndim == 1 else np.asarray(masked.any(axis=1))


def _chosen(column: Any, known: npt.NDArray[np.bool_]) -> Any:
    """Known entries of a column with one value per entry; a value for all entries unchanged."""
    if (
        column is None
        or isinstance(column, str)
        or np.ndim(column) == 0
        or len(column) != len(known)
    ):
        return column
    if is_awkward(column):
        return ak.drop_none(column[known])
    return np.asarray(column)[known]


def _identity(histogram: Any) -> Any:
    """Returns its argument: makes a pickled histogram plain."""
    return histogram


@cache
def _derived(plain: Any) -> Any:
    own = {"__slots__": ("_forkrun_fills",), "_forkrun_plain": plain}
    names = {"__module__": plain.__module__, "__qualname__": plain.__qualname__}
    metaclass: Any = type(plain)
    return metaclass(plain.__name__, (_Booked, plain), {**own, **names}, family=plain._family)


def exactly_filled(histogram: Any, storage: Storage) -> Any:
    """A histogram with the same content, whose fills are summed exactly."""
    plain: Any = type(histogram)
    given = histogram.copy()
    if issubclass(given.storage_type, bh.storage.Unlimited):  # its cells cannot be written to
        given = bh.Histogram(*given.axes, storage=bh.storage.Double())
        given.view(flow=True)[...] = histogram.view(flow=True)
    made = object.__new__(_derived(plain))
    made._forkrun_fills = ExactFills(made, storage)  # gives access to its content
    bh.Histogram.__init__(made, given)
    made.__dict__.update(histogram.__dict__)
    made._forkrun_fills.begin()
    return made


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
