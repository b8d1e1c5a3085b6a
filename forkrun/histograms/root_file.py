"""Sums the histograms of all units exactly, rounds the sums, and writes them to a ROOT file; in
JSON by the schema of UHI (Unified Histogram Interface), which boost-histogram and hist can read;
and as small pictures for the report: few bins, few digits, one file for all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from forkrun import _core
from forkrun.base.durable import write_json
from forkrun.errors import JobError
from forkrun.histograms.axes import AxisKind, HistogramAxis
from forkrun.histograms.parts import HistogramSums, Named, Storage, Sums, read_parts

__all__ = ["Named", "histograms_of_core", "sum_histograms", "sums_of_core", "write_histograms"]


@lru_cache
def _core_axis(kind: str, title: str, bins: tuple[Any, ...], *others: Any) -> HistogramAxis:
    return HistogramAxis(AxisKind(kind), title, bins, *others)


def sums_of_core(histogram: _core.Histogram) -> HistogramSums:
    """Sums of a histogram of a C++ analyzer; for growing axes, those of one thread."""
    axes = tuple(_core_axis(*axis) for axis in histogram.axes)
    return HistogramSums(
        histogram.title, axes, Storage(histogram.storage), histogram.sums, histogram.sparse
    )


def histograms_of_core(core: _core.Schedule) -> list[Named]:
    """(module, name, sums of all threads) of C++ analyzers, in booking order."""
    totals: dict[tuple[str, str], HistogramSums] = {}
    for part in core.histograms():
        sums, key = sums_of_core(part), (part.module, part.name)
        if key in totals:
            totals[key].add(sums)
        else:
            totals[key] = sums
    return [(module, name, total) for (module, name), total in totals.items()]


def sum_histograms(files: Iterable[Path]) -> list[Named]:
    """(module, name, sum) in booking order; each file holds the histograms of one unit. The order
    of files only matters for the order of histograms that some of them lack."""
    return add_histograms((read_parts(file), str(file)) for file in files)


def add_histograms(parts: Iterable[tuple[Sequence[Named], str]]) -> list[Named]:
    """The sum of parts; each with its name in messages."""
    totals: dict[tuple[str, str], HistogramSums] = {}
    for histograms, of in parts:
        for module, name, part in histograms:
            key = (module, name)
            if key not in totals:
                totals[key] = part.copy()
                continue
            try:
                totals[key].add(part)
            except ValueError as error:
                raise JobError(
                    f"histogram {module}/{name}: its sums of two units cannot be added: {error} "
                    f"({of})"
                ) from error
    return [(module, name, total.in_order()) for (module, name), total in totals.items()]


def write_histograms(path: Path, histograms: Iterable[Named]) -> int:
    """Writes each histogram under MODULE/NAME; returns their number."""
    contents = [
        (f"{module}/{name}", h.title, [_axis_content(axis) for axis in h.axes], str(h.storage),
         _in_root(h), h.sparse)
        for module, name, h in histograms
    ]  # fmt: skip
    _core.write_histograms(str(path), contents)
    return len(contents)


def _axis_content(axis: HistogramAxis) -> tuple[Any, ...]:
    """Title, edges, whether the bins between the first and the last one are equal, labels."""
    edges = axis.edges if axis.n_bins else np.array([0.0, 1.0])  # ROOT needs at least one bin
    return axis.title, edges, axis.kind is not AxisKind.VARIABLE, axis.labels


def _in_root(histogram: HistogramSums) -> npt.NDArray[np.float64]:
    """The sums with both flow bins on every axis, the first axis fastest."""
    pads: list[Any] = [
        (int(not a.underflow), int(not a.overflow) + int(a.n_bins == 0))
        for a in reversed(histogram.axes)
    ]
    if not any(map(any, pads)):
        return histogram.sums
    return np.ascontiguousarray(np.pad(histogram.sums, [(0, 0), *pads]))


_VERSION = 1  # of the schema


def write_uhi(path: Path, histograms: Iterable[Named]) -> None:
    """Writes an object with each histogram under MODULE/NAME. Numbers that are not finite are NaN,
    Infinity or -Infinity, like in Python's json."""
    described = {f"{module}/{name}": as_uhi(each) for module, name, each in histograms}
    path.write_text(json.dumps(described), encoding="utf-8")


def as_uhi(histogram: HistogramSums) -> dict[str, Any]:
    return {
        "uhi_schema": _VERSION,
        "metadata": {"label": histogram.title} if histogram.title else {},
        "axes": [_uhi_axis(axis) for axis in histogram.axes],
        "storage": _storage(histogram.storage, histogram.sums),
    }


def _uhi_axis(axis: HistogramAxis) -> dict[str, Any]:
    metadata = {"label": axis.title} if axis.title else {}
    if axis.kind is AxisKind.CATEGORY:
        is_text = bool(axis.bins) and isinstance(axis.bins[0], str)
        kind = "category_str" if is_text or not axis.bins else "category_int"
        categories = list(axis.bins)
        return {"type": kind, "categories": categories, "flow": axis.overflow, "metadata": metadata}
    flow = {"underflow": axis.underflow, "overflow": axis.overflow, "circular": False}
    return {**_bins(axis), **flow, "metadata": metadata}


def _bins(axis: HistogramAxis) -> dict[str, Any]:
    if axis.kind is AxisKind.VARIABLE:
        return {"type": "variable", "edges": list(axis.bins)}
    if axis.kind is AxisKind.REGULAR:
        n_bins, low, high = axis.bins
        return {"type": "regular", "bins": n_bins, "lower": low, "upper": high}
    start, stop = axis.bins
    of_integers = {"writer_info": {"boost-histogram": {"orig_type": "Integer"}}}
    return {"type": "regular", "bins": stop - start, "lower": start, "upper": stop, **of_integers}


def _storage(storage: Storage, sums: Sums) -> dict[str, Any]:
    """`sums`: (n_sums, …, extent of axis 1, of axis 0)"""
    w, *others = (values.T for values in sums)
    if storage is Storage.COUNTS:
        return {"type": "double", "values": w.tolist()}
    if storage is Storage.WEIGHTS:
        return {"type": "weighted", "values": w.tolist(), "variances": others[0].tolist()}
    wy, wy2 = others[-2:]
    with np.errstate(all="ignore"):
        means = np.where(w == 0, 0, wy / w)
        n_free = w - (1 if storage is Storage.MEANS else others[0] / w)
        variances = np.where(n_free > 0, (wy2 - wy * means) / n_free, 0)
    spread = {"values": means.tolist(), "variances": variances.tolist()}
    if storage is Storage.MEANS:
        return {"type": "mean", "counts": w.tolist(), **spread}
    weights = {"sum_of_weights": w.tolist(), "sum_of_weights_squared": others[0].tolist()}
    return {"type": "weighted_mean", **weights, **spread}


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
