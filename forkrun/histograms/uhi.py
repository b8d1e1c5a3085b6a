"""Histograms in JSON, by the schema of UHI (Unified Histogram Interface), which boost-histogram and
hist can read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from forkrun.histograms.axes import AxisKind, HistogramAxis
from forkrun.histograms.parts import Named
from forkrun.histograms.sums import HistogramSums, Storage, Sums

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
        "axes": [_axis(axis) for axis in histogram.axes],
        "storage": _storage(histogram.storage, histogram.sums),
    }


def _axis(axis: HistogramAxis) -> dict[str, Any]:
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
