"""Weighted fills of a booked histogram, summed exactly, whatever their order and grouping.

Fills with weights or samples go to a `CellTable`, and so do those of plain columns on regular axes,
in one call. Others without weights only count, and go to boost-histogram. The rounded sums are put
into the content (`show`) for all that reads or writes it, to be taken out again before the next
fill (`hide`). What was written to cells meanwhile stays, instead of their sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import boost_histogram as bh
import numpy as np
import numpy.typing as npt

from forkrun import _core
from forkrun.histograms.bins_of_fills import Column, column_of_axis, is_unseen
from forkrun.histograms.plain_fills import PlainFills
from forkrun.histograms.storage_sums import sums_of, write_sums
from forkrun.histograms.sums import Storage, flat_places
from forkrun.histograms.varied_fills import (
    axis_of_variations,
    columns_by_variation,
    first_of,
    with_names,
)

_CONTENT: Any = bh.Histogram._hist  # the slot itself
_INTEGERS = (bh.storage.Int64, bh.storage.AtomicInt64)
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
        total = self._table.total()
        sums = sums_of(self._content, self._storage).reshape(total.n_sums, -1)
        filled = np.flatnonzero((sums != 0).any(axis=0))  # true for NaN
        if len(filled):
            total.add(filled, sums[:, filled])
        return total

    def fill_plainly(
        self, args: tuple[Any, ...], weight: Any, sample: Any, axes: dict[str, Any]
    ) -> bool:
        """Fills plain columns without a detour; False, and nothing is filled, if they are not."""
        if self._plain is None or self._fill_target is not None:
            return False
        if self._shown is not None:
            self._hide()
        return self._plain is not None and self._plain.fill(self._table, args, weight, sample, axes)

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
        self._keep(self.total())
        self._content.reset()
        with self._filling(self._content):
            operation(other)
        self._follow_axes()
        self._keep(self.total())
        self._content.reset()

    def _keep(self, sums: _core.ExactSums) -> None:
        self._table = _core.CellTable.of_sums(str(self._storage), sums)

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
        self._table = _core.CellTable(str(self._storage), self._content.size())
        self._layout = self._present_layout()
        self._plain = None if self._has_integers else PlainFills.of(self._histogram, self._axes())

    def _add(self, args: tuple[Any, ...], weight: Any, sample: Any) -> None:
        if np.ndim(weight) == 2:
            self._add_varied(args, np.asarray(weight, dtype=np.float64), sample)
            return
        columns = self._columns(args)
        if any(map(is_unseen, self._axes(), columns)):
            self._grow(args)
            columns = self._columns(args)
        weights = None if weight is None else _numbers(weight)
        samples = None if sample is None else _numbers(sample)
        self._table.fill(columns, weights, samples)

    def _add_varied(
        self, args: tuple[Any, ...], weights: npt.NDArray[np.float64], sample: Any
    ) -> None:
        """`weights`: (n_entries, n_variations)"""
        number = axis_of_variations(self._axes(), args, weights.shape[1])
        if weights.size == 0:
            return
        is_new = list(map(is_unseen, self._axes(), self._columns(args)))
        if is_new.pop(number):
            self._grow(with_names(args, number))
        if any(is_new):
            name = first_of(args[number], len(weights))
            self._grow((*args[:number], name, *args[number + 1 :]))
        columns = columns_by_variation(self._axes(), self._columns(args), number)
        samples = None if sample is None else _numbers(sample)
        for column, weight in zip(columns, weights.T, strict=True):
            self._table.fill([column], weight, samples)

    def _axes(self) -> list[Any]:
        return [self._content.axis(n) for n in range(self._content.rank())]

    def _columns(self, args: tuple[Any, ...]) -> list[Column]:
        return [column_of_axis(axis, arg) for axis, arg in zip(self._axes(), args, strict=True)]

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
            self._table.move_cells(_places(self._layout, layout), self._content.size())
            self._layout = layout

    def _present_layout(self) -> list[tuple[int, int]]:
        """Number of bins, flow included, and first bin of each axis."""
        return [(axis.extent, _first_bin(axis)) for axis in self._axes()]

    def _cells(self) -> Cells:
        """(n_cells, n_words of 8 bytes): the content's own memory."""
        cells = np.asarray(self._content.view(True)).T
        assert cells.flags.c_contiguous
        n_words = cells.dtype.itemsize // 8
        words: Cells = cells.reshape(-1).view(np.uint64).reshape(cells.size, n_words)
        return words

    def _show(self) -> None:
        if self._shown is not None or self._table.empty:
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
        self._table.clear_cells(np.flatnonzero(written))
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
