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
"""Run and lumi, of 32 bits each, in one number, in the order of (run, lumi)."""

_BITS = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


def lumi_keys(run: Integers, lumi: Integers) -> Keys:
    """(n,) runs and lumis in one number each."""
    return (run.astype(np.uint64) << _BITS) | lumi.astype(np.uint64)


def number_keys(keys: Keys) -> tuple[Integers, Integers]:
    """Different keys of (n,), numbered in the order in which they first appear: the first place of
    each, and (n,) the number of each place. In a tenth of the time of `np.unique`."""
    return _core.number_keys(keys)


def distinct(keys: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """(n,) each once, rising. As `np.unique`, which would import `numpy.ma` first: 12 ms."""
    rising = np.sort(keys)
    is_new = np.ones(len(rising), dtype=np.bool_)
    np.not_equal(rising[1:], rising[:-1], out=is_new[1:])
    return rising[is_new]


def of_datasets(keys: Keys, dataset: Integers) -> Keys:
    """(n,) a key for each lumi of each dataset, rising with the datasets: lumis of different ones
    are never one, whatever their numbers. `dataset` : (n,)."""
    if not dataset.any():
        return keys
    firsts, lumis = number_keys(keys)
    return (dataset * len(firsts) + lumis).astype(np.uint64)


def runs_and_lumis(keys: Keys) -> tuple[Keys, Keys]:
    """Inverse of `lumi_keys`."""
    return keys >> _BITS, keys & _LOW


class LumiCounts(Struct, frozen=True, eq=False):
    """Events by lumi, as columns: a million lumis in some tens of megabytes. `run`, `lumi`,
    `n_events`, and `dataset`, its number: (n_lumis,)."""

    run: Integers
    lumi: Integers
    n_events: Integers
    dataset: Integers

    def columns(self) -> dict[str, Integers]:
        """By name; without datasets where all lumis are of the first."""
        columns: dict[str, Integers] = asdict(self)
        if not self.dataset.any():
            del columns["dataset"]
        return columns

    @classmethod
    def of(cls, columns: Mapping[str, Any]) -> LumiCounts:
        """Inverse of `columns`, also of lists."""
        found = {name: np.asarray(column, np.int64) for name, column in columns.items()}
        return cls(**{"dataset": np.zeros_like(found["run"]), **found})

    def where(self, chosen: Any) -> LumiCounts:
        """Those that are `chosen`: places, or (n_lumis,) flags."""
        return LumiCounts(*(column[chosen] for column in asdict(self).values()))
