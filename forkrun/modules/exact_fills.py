"""Booked histograms whose weighted fills are summed exactly, whatever their order and grouping.

`exactly_filled` gives a histogram a class of its own, derived from the one that it has. Its fills
with weights or samples go to an `ExactSums`; those without only count, and go to boost-histogram.
All that reads or writes a histogram gets at its content as `_hist`. There the rounded sums are put
into the content (`show`), to be taken out again before the next fill (`hide`). What was written to
cells meanwhile stays, instead of their sums."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import boost_histogram as bh
import numpy as np
import numpy.typing as npt

from forkrun import _core
from forkrun.modules.bins_of_fills import column_of_axis, is_unseen
from forkrun.rundir.histogram_sums import Storage, flat_places

_CONTENT: Any = bh.Histogram._hist  # the slot itself
_INTEGERS = (bh.storage.Int64, bh.storage.AtomicInt64)
_ONE = np.ones(1)
Cells = npt.NDArray[Any]


class ExactFills:
    """The exact sums of a histogram. In the content of the histogram itself are its other fills,
    and what was written to it without any."""

    def __init__(self, histogram: Any, storage: Storage) -> None:
        self._histogram = histogram
        self._storage = storage
        self._shown: tuple[Cells, Cells] | None = None  # content without and with the sums
        self._fill_target: Any = None  # what a fill in progress sees as the content
        self._start_anew()

    @property
    def _content(self) -> Any:
        return _CONTENT.__get__(self._histogram)

    def content(self) -> Any:
        """The content, with all that was filled."""
        if self._fill_target is not None:
            return self._fill_target
        self._show()
        return self._content

    def replace(self, content: Any) -> None:
        """Replaces the content, and all that was filled."""
        _CONTENT.__set__(self._histogram, content)
        if self._fill_target is None:
            self._start_anew()

    def clear(self) -> None:
        self._content.reset()
        self._start_anew()

    def total(self) -> _core.ExactSums:
        """Sums of all that was filled or written: (n_sums, n_cells), the first axis fastest."""
        self._hide()
        total = self._sums.copy()
        sums = sums_of(self._content, self._storage).reshape(total.n_sums, -1)
        filled = np.flatnonzero((sums != 0).any(axis=0))  # true for NaN
        if len(filled):
            total.add(filled, sums[:, filled])
        return total

    def fill(
        self,
        fill: Callable[..., Any],
        args: tuple[Any, ...],
        options: dict[str, Any],
        axes: dict[str, Any],
    ) -> None:
        """`fill`: that of the class; it finds out which values are for which axis."""
        self._hide()
        has_weights = options["weight"] is not None and not self._has_integers
        is_exact = has_weights or options["sample"] is not None
        target = _FillTarget(self._content, self._add) if is_exact else self._content
        if is_exact:
            options["threads"] = None
        with self._filling(target):
            fill(*args, **options, **axes)
        self._follow_axes()

    def combine(self, operation: Callable[[Any], Any], other: Any) -> None:
        """Adds or subtracts another histogram exactly."""
        self._sums = self.total()
        self._content.reset()
        with self._filling(self._content):
            operation(other)
        self._follow_axes()
        self._sums = self.total()
        self._content.reset()

    @property
    def _has_integers(self) -> bool:
        return issubclass(self._content._storage_type, tuple(s.__bases__[0] for s in _INTEGERS))

    @contextmanager
    def _filling(self, target: Any) -> Iterator[None]:
        self._fill_target = target
        try:
            yield
        finally:
            self._fill_target = None

    def _start_anew(self) -> None:
        self._shown = None
        self._sums = _core.ExactSums(len(self._storage.sums), self._content.size())
        self._layout = self._present_layout()

    def _add(self, args: tuple[Any, ...], weight: Any, sample: Any) -> None:
        axes = [self._content.axis(n) for n in range(self._content.rank())]
        columns = [column_of_axis(axis, arg) for axis, arg in zip(axes, args, strict=True)]
        if any(is_unseen(axis, column) for axis, column in zip(axes, columns, strict=True)):
            self._grow(args)
            axes = [self._content.axis(n) for n in range(self._content.rank())]
            columns = [column_of_axis(axis, arg) for axis, arg in zip(axes, args, strict=True)]
        weights = _ONE if weight is None else _numbers(weight)
        samples = _ONE if sample is None else _numbers(sample)
        self._sums.fill(str(self._storage), columns, weights, samples)

    def _grow(self, args: tuple[Any, ...]) -> None:
        """Has the content meet all categories of a fill, without a change of its cells."""
        is_profile = self._storage in (Storage.MEANS, Storage.WEIGHTED_MEANS)
        before, layout = self._cells().copy(), self._present_layout()
        self._content.fill(*args, weight=0.0, sample=0.0 if is_profile else None)
        if is_profile:  # a mean of nothing is NaN
            self._content.reset()
            self._cells()[_places(layout, self._present_layout())] = before
        self._follow_axes()

    def _follow_axes(self) -> None:
        layout = self._present_layout()
        if layout != self._layout:
            self._sums.move_cells(_places(self._layout, layout), self._content.size())
            self._layout = layout

    def _present_layout(self) -> list[tuple[int, int]]:
        """Number of bins, flow included, and first bin of each axis."""
        axes = [self._content.axis(n) for n in range(self._content.rank())]
        return [(axis.extent, _first_bin(axis)) for axis in axes]

    def _cells(self) -> Cells:
        """(n_cells, n_words of 8 bytes): the content's own memory."""
        cells = np.asarray(self._content.view(True)).T
        assert cells.flags.c_contiguous
        n_words = cells.dtype.itemsize // 8
        words: Cells = cells.reshape(-1).view(np.uint64).reshape(cells.size, n_words)
        return words

    def _show(self) -> None:
        if self._shown is not None or self._sums.empty:
            return
        rounded = self.total().rounded()
        before = self._cells().copy()
        write_sums(self._content, self._storage, rounded)
        self._shown = before, self._cells().copy()

    def _hide(self) -> None:
        if self._shown is None:
            return
        before, shown = self._shown
        cells = self._cells()
        if cells.shape != shown.shape:  # it has grown while shown, so all of it is in the content
            self._start_anew()
            return
        written = (cells != shown).any(axis=1)
        cells[~written] = before[~written]
        self._sums.clear_cells(np.flatnonzero(written))
        self._shown = None


class _FillTarget:
    """The content of a histogram, for a fill that is to be exact."""

    def __init__(self, content: Any, add: Callable[[tuple[Any, ...], Any, Any], None]) -> None:
        self._content = content
        self._add = add

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content, name)

    def fill(self, *args: Any, weight: Any = None, sample: Any = None) -> None:
        takes_samples = self._content._storage_type in _PROFILES
        if len(args) != self._content.rank() or takes_samples != (sample is not None):
            self._content.fill(*args, weight=weight, sample=sample)  # raises
        self._add(args, weight, sample)


_PROFILES = (bh.storage.Mean.__bases__[0], bh.storage.WeightedMean.__bases__[0])


class _ExactlyFilled:
    """What a booked histogram does in another way than the class that it is of."""

    __slots__ = ()
    _forkrun_fills: ExactFills
    _forkrun_class: Any

    @property
    def _hist(self) -> Any:
        return self._forkrun_fills.content()

    @_hist.setter
    def _hist(self, content: Any) -> None:
        self._forkrun_fills.replace(content)

    def fill(
        self, *args: Any, weight: Any = None, sample: Any = None, threads: Any = None, **axes: Any
    ) -> Any:
        options = {"weight": weight, "sample": sample, "threads": threads}
        self._forkrun_fills.fill(super().fill, args, options, axes)  # type: ignore[misc]
        return self

    def reset(self) -> Any:
        self._forkrun_fills.clear()
        return self

    def __iadd__(self, other: Any) -> Any:
        operation = super().__iadd__  # type: ignore[misc]
        if not isinstance(other, bh.Histogram):
            return operation(other)
        self._forkrun_fills.combine(operation, _independent(other))
        return self

    def __isub__(self, other: Any) -> Any:
        operation = super().__isub__  # type: ignore[misc]
        if not isinstance(other, bh.Histogram):
            return operation(other)
        self._forkrun_fills.combine(operation, _independent(other))
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _itself, (copy.deepcopy(self),)

    def __new__(cls, *args: Any, **options: Any) -> Any:
        """Others of the class are plain."""
        return cls._forkrun_class(*args, **options)

    @classmethod
    def _clone(cls, *args: Any, **options: Any) -> Any:
        return cls._forkrun_class._clone(*args, **options)

    @classmethod
    def _export_bh_(cls, other: Any) -> None:
        """`other` was made of this one, and shares its content so far."""
        other._hist = copy.copy(other._hist)
        other.axes = other._generate_axes_()


def _itself(histogram: Any) -> Any:
    """What makes a pickled histogram plain."""
    return histogram


def exactly_filled(histogram: Any, storage: Storage) -> ExactFills:
    """Has all fills of the histogram summed exactly from now on."""
    plain = type(histogram)
    if histogram._hist._storage_type is bh.storage.Unlimited.__bases__[0]:
        _convert_to_double(histogram)
    fills = ExactFills(histogram, storage)
    own = {"__slots__": (), "_forkrun_fills": fills, "_forkrun_class": plain}
    names = {"__module__": plain.__module__, "__qualname__": plain.__qualname__}
    metaclass: Any = type(plain)
    kind = metaclass(
        plain.__name__, (_ExactlyFilled, plain), {**own, **names}, family=plain._family
    )
    histogram.__class__ = kind
    return fills


def sums_of(content: Any, storage: Storage) -> npt.NDArray[np.float64]:
    """Sums of what boost_histogram holds: (n_sums, …, bins of axis 1, of axis 0), flow included."""
    cells = np.asarray(content.view(True)).T
    if storage is Storage.COUNTS:
        return np.array(cells, dtype=np.float64)[np.newaxis]
    sums = np.empty((len(storage.sums), *cells.shape))
    if storage is Storage.WEIGHTS:
        sums[0], sums[1] = cells["value"], cells["variance"]
        return sums
    _take_profile(sums, cells)
    return sums


def _take_profile(sums: npt.NDArray[np.float64], cells: Cells) -> None:
    """boost_histogram keeps means and sums of squared deviations from them."""
    is_weighted = len(sums) == 4
    sums[0] = cells["sum_of_weights" if is_weighted else "count"]
    if is_weighted:
        sums[1] = cells["sum_of_weights_squared"]
    np.multiply(sums[0], cells["value"], out=sums[-2])
    np.multiply(sums[-2], cells["value"], out=sums[-1])
    sums[-1] += cells[_spread_of(is_weighted)]


def write_sums(content: Any, storage: Storage, sums: npt.NDArray[np.float64]) -> None:
    """Inverse of `sums_of`, up to rounding. `sums`: (n_sums, n_cells)"""
    cells = np.asarray(content.view(True)).T
    sums = sums.reshape(len(sums), *cells.shape)
    if storage is Storage.COUNTS:
        cells[...] = sums[0]
        return
    if storage is Storage.WEIGHTS:
        cells["value"], cells["variance"] = sums
        return
    is_weighted = len(sums) == 4
    cells["sum_of_weights" if is_weighted else "count"] = sums[0]
    if is_weighted:
        cells["sum_of_weights_squared"] = sums[1]
    with np.errstate(all="ignore"):
        means = np.where(sums[0] == 0, 0, sums[-2] / sums[0])
        cells["value"] = means
        cells[_spread_of(is_weighted)] = sums[-1] - sums[-2] * means


def _spread_of(is_weighted: bool) -> str:
    return "_sum_of_weighted_deltas_squared" if is_weighted else "_sum_of_deltas_squared"


def _convert_to_double(histogram: Any) -> None:
    """Its cells are no memory that others could write."""
    content = histogram._hist
    axes = [content.axis(n) for n in range(content.rank())]
    double = bh._core.hist.any_double(axes, bh._core.storage.double())
    double.view(True)[...] = content.view(True)
    histogram._hist = double
    histogram.axes = histogram._generate_axes_()


def _first_bin(axis: Any) -> int:
    return int(axis.value(0)) if isinstance(axis, bh._core.axis.integer_growth) else 0


def _places(old: list[tuple[int, int]], new: list[tuple[int, int]]) -> npt.NDArray[np.uint32]:
    """(cells of `old`,) the place of each in `new`, where new categories follow the others."""
    bins = [
        np.arange(first - new_first, first - new_first + extent)
        for (extent, first), (_, new_first) in zip(old, new, strict=True)
    ]
    return flat_places(bins, [extent for extent, _ in new])


def _numbers(values: Any) -> npt.NDArray[np.float64]:
    """(n,), as boost_histogram takes weights and samples."""
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim > 1:
        raise ValueError("All arrays must be 1D")
    return np.atleast_1d(numbers)


def _independent(other: Any) -> Any:
    return copy.deepcopy(other) if isinstance(other, _ExactlyFilled) else other
