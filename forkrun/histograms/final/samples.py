"""A histogram of a finished job by dataset and variation, as arrays."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from forkrun.errors import ConfigError
from forkrun.histograms.by_dataset import AXIS as DATASET
from forkrun.histograms.by_dataset import VARIATION

NOMINAL = "nominal"
Values = npt.NDArray[np.float64]


class Sample(Struct, frozen=True):
    """Content of one dataset. `values`, `variances`: (n_bins,), or (n_x, n_y), of sums of weights;
    `varied`: values by systematic variation. `name`: "" in a job without datasets."""

    name: str
    is_data: bool
    values: Values
    variances: Values
    varied: Mapping[str, Values] = {}


class Band(Struct, frozen=True):
    """Values of all simulation, and their uncertainty downwards and upwards: statistical
    uncertainty and all variations, correlated between datasets, added in quadrature."""

    values: Values
    down: Values
    up: Values


def samples_of(
    histogram: Any, data: Collection[str] = (), *, overflow: bool = False
) -> list[Sample]:
    """Samples in the order of the datasets. `histogram`: hist.Hist, with or without axes of
    datasets and variations; `data`: names of datasets that are data; `overflow`: adds underflow and
    overflow to the first and last bins. Raises ConfigError for profiles, which have no sums."""
    if histogram.kind.name != "COUNT":
        raise ConfigError("a profile has means, no sums of weights; draw it with hist")
    names = [axis.name for axis in histogram.axes]
    datasets = _categories(histogram, DATASET) or [""]
    variations = _categories(histogram, VARIATION) or [NOMINAL]
    made = []
    for dataset in datasets:
        chosen = {DATASET: dataset} if DATASET in names else {}
        parts = {}
        for variation in variations:
            more = {VARIATION: variation} if VARIATION in names else {}
            parts[variation] = _part(histogram, {**chosen, **more}, overflow)
        values, variances = parts.pop(NOMINAL)
        varied = {name: part[0] for name, part in parts.items()}
        made.append(Sample(dataset, dataset in data, values, variances, varied))
    return made


def axes_of(histogram: Any) -> list[Any]:
    """Axes of the filled values: without those of datasets and variations."""
    return [axis for axis in histogram.axes if axis.name not in (DATASET, VARIATION)]


def total_of(samples: Iterable[Sample]) -> Band:
    """Sum of samples, with its uncertainty."""
    parts = list(samples)
    values = np.sum([each.values for each in parts], axis=0)
    down = up = np.sum([each.variances for each in parts], axis=0)
    for directions in sources_of(parts).values():
        shifts = [
            sum((each.varied.get(name, each.values) for each in parts), np.zeros_like(values))
            - values
            for name in directions
        ]
        up = up + np.max([np.zeros_like(values), *shifts], axis=0) ** 2
        down = down + np.min([np.zeros_like(values), *shifts], axis=0) ** 2
    return Band(values, np.sqrt(down), np.sqrt(up))


def sources_of(samples: Iterable[Sample]) -> dict[str, list[str]]:
    """Variations by source: {"jes": ["jes_up", "jes_down"]}."""
    sources: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for each in samples for name in each.varied):
        sources.setdefault(name.rpartition("_")[0] or name, []).append(name)
    return sources


def _categories(histogram: Any, name: str) -> list[str]:
    found = [axis for axis in histogram.axes if axis.name == name]
    return [str(category) for category in found[0]] if found else []


def _part(histogram: Any, chosen: Mapping[str, str], overflow: bool) -> tuple[Values, Values]:
    """Values and variances of one dataset and variation."""
    import hist

    part = histogram[{name: hist.loc(category) for name, category in chosen.items()}]
    values, variances = part.values(flow=overflow), part.variances(flow=overflow)
    variances = values if variances is None else variances
    if overflow:
        for dimension, axis in enumerate(part.axes):
            values, variances = (_gathered(v, dimension, axis) for v in (values, variances))
    return np.asarray(values, np.float64), np.asarray(variances, np.float64)


def _gathered(values: Values, dimension: int, axis: Any) -> Values:
    """Values with flow bins added to the bins next to them."""
    moved = np.moveaxis(np.array(values, np.float64), dimension, 0)
    if axis.traits.underflow:
        moved[1] += moved[0]
        moved = moved[1:]
    if axis.traits.overflow:
        moved[-2] += moved[-1]
        moved = moved[:-1]
    return np.moveaxis(moved, 0, dimension)
