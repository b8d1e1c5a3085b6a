"""Sums the histograms of all units, in plan order, and writes them to a ROOT file."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from forkrun import _core
from forkrun.errors import JobError

Named = tuple[str, str, Any]


@dataclass
class BookedHistogram:
    """Of a C++ analyzer; as `_core.Histogram`, but it can be pickled and added to."""

    title: str
    axes: list[tuple[str, int, float, float, str]]
    values: npt.NDArray[np.float64]
    variances: npt.NDArray[np.float64]

    def __iadd__(self, other: BookedHistogram) -> BookedHistogram:
        self.values = self.values + other.values
        self.variances = self.variances + other.variances
        return self


def sum_histograms(files: Iterable[Path]) -> list[Named]:
    """(module, name, sum) in booking order; each file holds such a list of one unit."""
    sums: dict[tuple[str, str], Any] = {}
    for file in files:
        for module, name, histogram in pickle.loads(file.read_bytes()):
            key = (module, name)
            sums[key] = _added(sums[key], histogram, key) if key in sums else histogram
    return [(module, name, histogram) for (module, name), histogram in sums.items()]


def _added(total: Any, part: Any, key: tuple[str, str]) -> Any:
    try:
        total += part
    except Exception as error:
        raise JobError(
            f"histogram {key[0]}/{key[1]}: those of two units cannot be added: {error}"
        ) from error
    return total


def write_histograms(path: Path, histograms: Iterable[Named]) -> int:
    """Writes each under MODULE/NAME; gives their number."""
    contents = [_content(f"{module}/{name}", histogram) for module, name, histogram in histograms]
    _core.write_histograms(str(path), contents)
    return len(contents)


def _content(name: str, histogram: Any) -> _core.HistogramContent:
    if isinstance(histogram, BookedHistogram):
        return _content_of_booked(name, histogram)
    return _content_of_hist(name, histogram)


def _content_of_booked(name: str, histogram: BookedHistogram) -> _core.HistogramContent:
    edges = [np.linspace(low, high, n + 1) for _, n, low, high, _ in histogram.axes]
    titles = [title or axis for axis, *_, title in histogram.axes]
    return name, histogram.title, edges, histogram.values, histogram.variances, titles


def _content_of_hist(name: str, histogram: Any) -> _core.HistogramContent:
    """Of a hist.Hist or boost_histogram.Histogram of 1 to 3 axes."""
    if not 1 <= histogram.ndim <= 3:
        raise JobError(
            f"histogram {name} has {histogram.ndim} axes; only 1 to 3 can be written to ROOT files"
        )
    values = histogram.values(flow=True)
    variances = histogram.variances(flow=True)
    if variances is None:
        variances = values
    edges = [np.asarray(axis.edges, dtype=np.float64) for axis in histogram.axes]
    titles = [str(getattr(axis, "label", "") or "") for axis in histogram.axes]
    pads = [(int(not a.traits.underflow), int(not a.traits.overflow)) for a in histogram.axes]
    title = str(getattr(histogram, "label", None) or getattr(histogram, "name", None) or "")
    return name, title, edges, _padded(values, pads), _padded(variances, pads), titles


def _padded(values: Any, pads: list[tuple[int, int]]) -> npt.NDArray[np.float64]:
    """With both flow bins on every axis, as ROOT has them."""
    return np.ascontiguousarray(np.pad(np.asarray(values, dtype=np.float64), pads))
