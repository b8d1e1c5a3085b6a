"""Fills of columns of numbers on regular and variable axes, as most are: one call of the core, and
nothing else, so that small columns cost little, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import hist
import numpy as np

from forkrun import _core
from forkrun.histograms.bins_of_fills import number_axis


class PlainFills:
    """What such fills need of a histogram all of whose axes are such, and do not grow."""

    def __init__(self, axes: _core.NumberAxes, names: tuple[str, ...], by_name: bool) -> None:
        """`names`: of the axes; `by_name`: values are given by name only."""
        self._axes = axes
        self._names = names
        self._by_name = by_name

    @classmethod
    def of(cls, histogram: Any, axes: Sequence[Any]) -> PlainFills | None:
        """`axes`: of boost_histogram's core. None if there are others among them."""
        numbers = [number_axis(axis) for axis in axes]
        if any(axis is None for axis in numbers):
            return None
        names = tuple(getattr(axis, "name", "") for axis in histogram.axes)
        return cls(
            _core.NumberAxes([axis for axis in numbers if axis is not None]),
            names,
            isinstance(histogram, hist.NamedHist),
        )

    def fill(
        self,
        table: _core.CellTable,
        args: tuple[Any, ...],
        weight: Any,
        sample: Any,
        named: dict[str, Any],
    ) -> bool:
        """False, and nothing is filled, unless all are columns of floats of one length."""
        if named:
            if args or len(named) != len(self._names):
                return False
            args = tuple(named.get(name) for name in self._names)
        elif self._by_name:
            return False
        columns = tuple(a if type(a) is np.ndarray else _array(a) for a in args)
        if weight is not None and type(weight) is not np.ndarray:
            weight = _array(weight)
            if weight is None:
                return False
        if sample is not None and type(sample) is not np.ndarray:
            sample = _array(sample)
            if sample is None:
                return False
        return table.fill_columns(self._axes, columns, weight, sample)


def _array(values: Any) -> Any:
    """NumPy array of another library's array; None for anything else."""
    if not hasattr(values, "__array__"):
        return None
    try:
        return np.asarray(values)
    except (TypeError, ValueError):  # passed over: the fill of the class says what is wrong
        return None
