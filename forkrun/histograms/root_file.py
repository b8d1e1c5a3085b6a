"""Sums the histograms of all units exactly, rounds the sums, and writes them to a ROOT file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from forkrun import _core
from forkrun.errors import JobError
from forkrun.histograms.axes import AxisKind, HistogramAxis
from forkrun.histograms.parts import Named, read_parts
from forkrun.histograms.sums import HistogramSums, Storage

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
