"""Converts storages of boost_histogram to the sums of a job, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from forkrun.histograms.sums import Storage


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
