"""Histograms as small pictures for the report: few bins, few digits, one file for all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from forkrun.base.durable import write_json
from forkrun.histograms.axes import HistogramAxis
from forkrun.histograms.parts import Named
from forkrun.histograms.sums import HistogramSums

_MOST_HISTOGRAMS = 400
_MOST_BINS = 200
"""Bins of one axis; more are joined."""
_MOST_BINS_2D = 50
_MOST_CELLS = 200_000
"""Bins of all pictures together."""
_N_DIGITS = 5

Values = npt.NDArray[np.float64]


def write_pictures(path: Path, histograms: Iterable[Named]) -> None:
    """Writes histograms of one and two axes, only the first of very many."""
    write_json(path, list(_within_bounds(_pictures(histograms))))


def _pictures(histograms: Iterable[Named]) -> Iterator[dict[str, Any]]:
    for module, name, histogram in histograms:
        if 1 <= len(histogram.axes) <= 2 and not histogram.sparse:
            yield {"name": f"{module}/{name}", **picture(histogram)}


def _within_bounds(pictures: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    n_cells = 0
    for n, each in enumerate(pictures):
        n_cells += np.size(each["values"])
        if n == _MOST_HISTOGRAMS or n_cells > _MOST_CELLS:
            return
        yield each


def picture(histogram: HistogramSums) -> dict[str, Any]:
    """`axes`: title, edges, labels of categories; `values`: without flow bins, (n_bins,) or
    (n_bins of axis 1, n_bins of axis 0), of a profile the means; `entries`: sum of weights, flow
    bins included; `is_profile`."""
    sums = np.nan_to_num(histogram.sums, posinf=0.0, neginf=0.0)
    entries = float(sums[0].sum())
    most = _MOST_BINS if len(histogram.axes) == 1 else _MOST_BINS_2D
    for n, axis in enumerate(histogram.axes):
        sums = _without_flow(sums, sums.ndim - 1 - n, axis)
        sums = _joined(sums, sums.ndim - 1 - n, _group(axis, most))
    w, *others = sums
    values = np.divide(others[-2], w, out=np.zeros_like(w), where=w != 0) if others[1:] else w
    return {
        "title": histogram.title,
        "axes": [_axis(axis, _group(axis, most)) for axis in histogram.axes],
        "values": _short(values),
        "entries": float(f"{entries:.{_N_DIGITS + 2}g}"),
        "is_profile": histogram.storage.is_profile,
    }


def _group(axis: HistogramAxis, most: int) -> int:
    """Number of bins joined into one of the picture."""
    return 1 if axis.labels else -(-axis.n_bins // most)


def _without_flow(sums: Values, dimension: int, axis: HistogramAxis) -> Values:
    own = slice(int(axis.underflow), int(axis.underflow) + axis.n_bins)
    return sums[(slice(None),) * dimension + (own,)]


def _joined(sums: Values, dimension: int, group: int) -> Values:
    if group <= 1 or not sums.size:
        return sums
    return np.add.reduceat(sums, np.arange(0, sums.shape[dimension], group), axis=dimension)


def _axis(axis: HistogramAxis, group: int) -> dict[str, Any]:
    edges = axis.edges
    kept = np.append(edges[:-1:group], edges[-1:]) if group > 1 else edges
    return {"title": axis.title, "edges": _short(kept), "labels": axis.labels[:_MOST_BINS]}


def _short(values: Values) -> list[Any]:
    """Numbers with few digits; integers as such."""
    if values.ndim > 1:
        return [_short(row) for row in values]
    texts = (float(f"{value:.{_N_DIGITS}g}") for value in values)
    return [int(value) if value.is_integer() else value for value in texts]
