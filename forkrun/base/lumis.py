"""Runs and lumis as columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import asdict

from forkrun import _core

Integers = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]
"""Run and lumi, 32 bits each, in one number that sorts by (run, lumi)."""

_BITS = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


def lumi_keys(run: Integers, lumi: Integers) -> Keys:
    """Runs and lumis (n,) as one number each, (n,)."""
    return (run.astype(np.uint64) << _BITS) | lumi.astype(np.uint64)


def number_keys(keys: Keys) -> tuple[Integers, Integers]:
    """Numbers the distinct keys in order of first appearance: returns the first place of each, and
    the number at each place, (n,). Takes a tenth of the time of `np.unique`."""
    return _core.number_keys(keys)


def distinct(keys: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Distinct keys of (n,), sorted. `np.unique` would import `numpy.ma` first: 12 ms."""
    rising = np.sort(keys)
    is_new = np.ones(len(rising), dtype=np.bool_)
    np.not_equal(rising[1:], rising[:-1], out=is_new[1:])
    return rising[is_new]


def dataset_lumi_keys(keys: Keys, dataset: Integers) -> Keys:
    """Keys (n,) that distinguish the lumis of datasets, sorted by dataset. `dataset`: (n,)."""
    if not dataset.any():
        return keys
    firsts, lumis = number_keys(keys)
    return (dataset * len(firsts) + lumis).astype(np.uint64)


def runs_and_lumis(keys: Keys) -> tuple[Keys, Keys]:
    """Inverse of `lumi_keys`."""
    return keys >> _BITS, keys & _LOW


class LumiCounts(Struct, frozen=True, eq=False):
    """Events by lumi, as columns: a million lumis take some tens of megabytes. `run`, `lumi`,
    `n_events`, and number of the `dataset`: (n_lumis,)."""

    run: Integers
    lumi: Integers
    n_events: Integers
    dataset: Integers

    def columns(self) -> dict[str, Integers]:
        """Columns by name; without datasets where all lumis belong to the first."""
        columns: dict[str, Integers] = asdict(self)
        if not self.dataset.any():
            del columns["dataset"]
        return columns

    @classmethod
    def of(cls, columns: Mapping[str, Any]) -> LumiCounts:
        """Inverse of `columns`; also takes lists."""
        found = {name: np.asarray(column, np.int64) for name, column in columns.items()}
        return cls(**{"dataset": np.zeros_like(found["run"]), **found})

    def where(self, chosen: Any) -> LumiCounts:
        """Selected lumis. `chosen`: indices, or flags (n_lumis,)."""
        return LumiCounts(*(column[chosen] for column in asdict(self).values()))
