"""Fills of a booked histogram, summed exactly, independent of their order and grouping.

All fills go to a `CellTable`; plain columns of numbers on regular and variable axes by a single
call of the core, which is cheap for small columns, too. The content of the histogram itself is only
a display: rounded sums are put into it for readers and writers (`content`). Before the next fill,
values written to cells replace their sums."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

import boost_histogram as bh
import hist
import numpy as np
import numpy.typing as npt

from forkrun import _core
from forkrun.base.quantities import plural
from forkrun.histograms.axes import AxisKind, HistogramAxis
from forkrun.histograms.hist_axes import column_finder, core_axes, described, grown, has_coordinates
from forkrun.histograms.parts import HistogramSums, Storage

_CONTENT: Any = bh.Histogram._hist  # the slot itself
_INTEGERS = (bh.storage.Int64, bh.storage.AtomicInt64)


class ExactFills:
    """Exact sums of a histogram. `axes`: its present ones."""

    def __init__(self, histogram: Any, storage: Storage) -> None:
        """`histogram`: still without content and axes; `begin` is called when it has them."""
        self._histogram = histogram
        self._storage = storage
        self._shown: npt.NDArray[np.uint64] | None = None  # cells with the sums
        self._is_open = True  # whether the histogram itself is using its content
        self._n_nan = 0

    def begin(self) -> None:
        axes = self._histogram.axes
        self._by_name = isinstance(self._histogram, hist.NamedHist)
        self._names = tuple(getattr(axis, "name", "") for axis in axes)
        self._declared = [copy.copy(axis) for axis in axes]
        self.axes = self._as_booked = tuple(map(described, axes))
        self._take_content()

    @property
    def counts(self) -> bool:
        """Whether no squares of weights are kept."""
        return self._storage is Storage.COUNTS

    @property
    def _content(self) -> Any:
        return _CONTENT.__get__(self._histogram)

    def content(self) -> Any:
        """The content with all fills."""
        if not self._is_open and self._shown is None:
            write_sums(self._content, self._storage, self._table.total().rounded())
            self._shown = self._cells().copy()
        return self._content

    def replace(self, content: Any) -> None:
        """Replaces the content and all fills."""
        _CONTENT.__set__(self._histogram, content)
        if not self._is_open:
            self._take_content()

    def take_nan(self) -> int:
        """Number of NaN filled into the overflow since the last call."""
        taken, self._n_nan = self._n_nan, 0
        return taken

    def clear(self) -> None:
        self._shown = None
        self._table = _core.CellTable(str(self._storage), self._n_cells)

    def clear_axes(self) -> None:
        """Empties it and removes bins added by fills."""
        if self.axes != self._as_booked:
            self._set_axes(self._declared)
            self._meet(self._as_booked)
        self.clear()

    def total(self) -> _core.ExactSums:
        """Sums of all fills and written values: (n_sums, n_cells), the first axis fastest."""
        self._take_written()
        return self._table.total()

    def run_on_content(self, operation: Callable[..., Any], *args: Any, **options: Any) -> None:
        """Runs an operation of the class on an empty content, then adds the result."""
        self._take_written()
        self._content.reset()
        self._is_open = True
        try:
            operation(*args, **options)
        finally:
            self._is_open = False
            self._follow_axes()
            self._add_content(self._table.total(), np.arange(self._n_cells))

    def fill_plainly(
        self, args: tuple[Any, ...], weight: Any, sample: Any, named: dict[str, Any]
    ) -> bool:
        """Fills columns of floats of one length; returns False without filling for others."""
        if not self._is_plain:
            return False
        if named:
            if args or len(named) != len(self._names):
                return False
            args = tuple(named.get(name) for name in self._names)
        elif self._by_name:
            return False
        if self._shown is not None:
            self._take_written()
        columns = tuple(a if type(a) is np.ndarray else _as_array(a) for a in args)
        if weight is not None and type(weight) is not np.ndarray:
            weight = _as_array(weight)
            if weight is None:
                return False
        if sample is not None and type(sample) is not np.ndarray:
            sample = _as_array(sample)
            if sample is None:
                return False
        n_nan = self._table.fill_columns(self._core_axes, columns, weight, sample)
        self._n_nan += n_nan or 0
        return n_nan is not None

    def fill(self, args: tuple[Any, ...], weight: Any, sample: Any, named: dict[str, Any]) -> bool:
        """Fills columns; returns False without filling if the class must report an error, or if its
        weights have another form."""
        values = self._in_order(args, named)
        if values is None or self._storage.is_profile == (sample is None):
            return False
        if weight is not None and self._has_integers:
            return False
        self._take_written()
        samples = None if sample is None else _numbers(sample)
        if np.ndim(weight) == 2:
            self._fill_varied(values, np.asarray(weight, dtype=np.float64), samples)
            return True
        columns = self._columns(values)
        if samples is not None and len(samples) > 1:  # one value applies to all samples
            columns = [np.repeat(c, len(samples)) if len(c) == 1 else c for c in columns]
        weights = None if weight is None else _numbers(weight)
        self._n_nan += self._table.fill(self._core_axes, columns, weights, samples)
        return True

    def _fill_varied(
        self, values: Sequence[Any], weights: npt.NDArray[np.float64], samples: Any
    ) -> None:
        """`weights`: (n_entries, n_variations)"""
        number = self._axis_of_variations(values, weights.shape[1])
        if weights.size == 0:
            return
        columns = self._columns(values)
        for place, of_variation in zip(columns[number], weights.T, strict=True):
            columns[number] = np.array([place])
            n_nan = self._table.fill(self._core_axes, columns, of_variation, samples)
        self._n_nan += n_nan

    def _axis_of_variations(self, values: Sequence[Any], n_variations: int) -> int:
        """Number of the axis with a name for each variation. Raises ValueError unless it is
        unique."""
        found = [
            number
            for number, (axis, given) in enumerate(zip(self.axes, values, strict=True))
            if axis.kind is AxisKind.CATEGORY and np.shape(given) == (n_variations,)
        ]
        if len(found) == 1:
            return found[0]
        problem = "several have" if found else "none has"
        raise ValueError(
            f"weights of shape (n, {n_variations}) need one category axis with"
            f" {plural(n_variations, 'name')} of variations, and {problem}: fill(x, variation=[…],"
            " weight=weights)"
        )

    def _in_order(self, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...] | None:
        """One value per axis; None if the arguments do not fit."""
        rest = self._names[len(args) :]
        if len(args) + len(named) != len(self._names) or (args and self._by_name):
            return None
        return (*args, *(named[name] for name in rest)) if set(rest) == set(named) else None

    def _columns(self, values: Sequence[Any]) -> list[npt.NDArray[Any]]:
        columns = [find(value) for find, value in zip(self._finders, values, strict=True)]
        pairs = zip(self.axes, columns, strict=True)
        if any(a.grows and ((bins < 0) | (bins >= a.n_bins)).any() for a, bins in pairs):
            axes = zip(self._histogram.axes, values, strict=True)
            self._set_axes([grown(*pair) for pair in axes])
            self._follow_axes()
            return [find(value) for find, value in zip(self._finders, values, strict=True)]
        return columns

    # --- axes ---------------------------------------------------------------------------------
    def _described(self) -> tuple[HistogramAxis, ...]:
        pairs = zip(self._histogram.axes, self.axes, strict=True)
        return tuple(described(axis, old.n_declared) if old.grows else old for axis, old in pairs)

    def _meet(self, axes: tuple[HistogramAxis, ...]) -> None:
        """Notes the present axes. `axes`: as described."""
        self.axes = axes
        self._n_cells = math.prod(axis.extent for axis in axes)
        self._core_axes = core_axes(self._histogram.axes)
        self._finders = [column_finder(axis) for axis in self._histogram.axes]
        self._is_plain = not self._has_integers and all(map(has_coordinates, self._histogram.axes))

    def _set_axes(self, axes: Sequence[Any]) -> None:
        """Gives the histogram these axes, and an empty content."""
        self._is_open = True
        made = bh.Histogram(*axes, storage=self._histogram.storage_type())
        _CONTENT.__set__(self._histogram, made._hist)
        self._histogram.axes = self._histogram._generate_axes_()
        self._is_open, self._shown = False, None

    def _follow_axes(self) -> None:
        """Moves the sums to the bins of axes that have grown."""
        axes = self._described()
        if axes != self.axes:
            sums = HistogramSums("", self.axes, self._storage, self._table.total())
            sums.spread_to(axes)
            self._table = _core.CellTable.of_sums(str(self._storage), sums.exact)
            self._meet(axes)

    # --- the display --------------------------------------------------------------------------
    def _cells(self) -> npt.NDArray[np.uint64]:
        """(n_cells, n_words of 8 bytes): the content's own memory."""
        cells = np.asarray(self._content.view(True)).T
        assert cells.flags.c_contiguous
        n_words = cells.dtype.itemsize // 8
        words: npt.NDArray[np.uint64] = cells.reshape(-1).view(np.uint64)
        return words.reshape(cells.size, n_words)

    def _take_written(self) -> None:
        """Replaces sums of cells that were written after they were shown."""
        shown, self._shown = self._shown, None
        if shown is None:
            return
        written = np.flatnonzero((self._cells() != shown).any(axis=1))
        if len(written):
            total = self._table.total()
            total.clear_cells(written)
            self._add_content(total, written)

    def _take_content(self) -> None:
        """Replaces all sums and axes by those of the content."""
        self._is_open, self._shown = True, None
        self._histogram.axes = self._histogram._generate_axes_()
        self._has_integers = issubclass(self._histogram.storage_type, _INTEGERS)
        self._is_open = False
        self._meet(self._described())
        nothing = _core.ExactSums(len(self._storage.sums), self._n_cells)
        self._add_content(nothing, np.arange(self._n_cells))

    def _add_content(self, total: _core.ExactSums, cells: npt.NDArray[np.intp]) -> None:
        """Adds cells of the content to the sums of the table."""
        sums = sums_of(self._content, self._storage).reshape(total.n_sums, -1)[:, cells]
        filled = (sums != 0).any(axis=0)  # true for NaN
        total.add(cells[filled], sums[:, filled])
        self._table = _core.CellTable.of_sums(str(self._storage), total)


def _as_array(values: Any) -> Any:
    """NumPy array of another library's array; None for anything else."""
    if not hasattr(values, "__array__"):
        return None
    try:
        return np.asarray(values)
    except (TypeError, ValueError):  # passed over: the class's fill reports the problem
        return None


def _numbers(values: Any) -> npt.NDArray[np.float64]:
    """(n,) numbers, in the form of weights and samples of boost_histogram."""
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim > 1:
        raise ValueError("All arrays must be 1D")
    return np.atleast_1d(numbers)


def sums_of(content: Any, storage: Storage) -> npt.NDArray[np.float64]:
    """Sums from the content of boost_histogram: (n_sums, …, bins of axis 1, of axis 0), flow
    included."""
    cells = np.asarray(content.view(True)).T
    if storage is Storage.COUNTS:
        return np.array(cells, dtype=np.float64)[np.newaxis]
    sums = np.empty((len(storage.sums), *cells.shape))
    if storage is Storage.WEIGHTS:
        sums[0], sums[1] = cells["value"], cells["variance"]
        return sums
    _take_profile(sums, cells)
    return sums


def _take_profile(sums: npt.NDArray[np.float64], cells: npt.NDArray[Any]) -> None:
    """Sums of a profile, of which boost_histogram keeps means and sums of squared deviations."""
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
