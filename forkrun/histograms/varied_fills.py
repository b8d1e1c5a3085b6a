"""Fills with a weight for each entry and variation: which bins the entries are in is found once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from forkrun.histograms.bins_of_fills import Column, is_category

_OUTSIDE = np.int32(-(2**31))
"""Negative also after the place of a variation was added."""


def axis_of_variations(axes: Sequence[Any], args: Sequence[Any], n_variations: int) -> int:
    """Number of the axis that was given a name for each variation. Raises ValueError unless it is
    clear which that is."""
    found = [
        number
        for number, (axis, arg) in enumerate(zip(axes, args, strict=True))
        if is_category(axis) and np.shape(arg) == (n_variations,)
    ]
    if len(found) == 1:
        return found[0]
    problem = "several have" if found else "none has"
    raise ValueError(
        f"weights of shape (n, {n_variations}) need one category axis with {n_variations} names of"
        f" variations, and {problem}: fill(x, variation=[…], weight=weights)"
    )


def with_names(args: Sequence[Any], number: int) -> tuple[Any, ...]:
    """The names of the variations, each with the first entry. `number`: of their axis."""
    n = len(args[number])
    return tuple(a if k == number else first_of(a, n) for k, a in enumerate(args))


def first_of(values: Any, n: int) -> npt.NDArray[Any]:
    """(n,) times the first."""
    return np.repeat(np.ravel(values)[:1], n)


def columns_by_variation(
    axes: Sequence[Any], columns: Sequence[Column], number: int
) -> list[Column]:
    """Where the entries are in the table of all cells, for each variation. `number`: of their
    axis."""
    strides = np.cumprod([1, *(axis.extent for axis in axes)])
    n_cells, stride = int(strides[-1]), strides[number]
    cells = np.zeros(1, dtype=np.int64)
    is_outside = np.zeros(1, dtype=np.bool_)
    for axis, column, step in zip(axes, columns, strides, strict=False):
        if column is not columns[number]:
            bins = _bins(axis, column)
            cells = cells + bins * step
            is_outside = is_outside | (bins < 0) | (bins >= axis.extent)
    cells = np.where(is_outside, _OUTSIDE, cells).astype(np.int32)
    offsets = (_bins(axes[number], columns[number]) * stride).astype(np.int32)
    return [(n_cells, False, False, cells + offset) for offset in offsets]


def _bins(axis: Any, column: Column) -> npt.NDArray[np.int64]:
    """(n,) or (1,) from 0; others have none."""
    bins = axis.index(column[3]) if len(column) > 4 else column[3]
    result: npt.NDArray[np.int64] = np.asarray(bins, dtype=np.int64) + bool(axis.traits_underflow)
    return result
