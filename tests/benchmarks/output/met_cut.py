"""Keeps events by one column, or reads some: what the benchmark of outputs selects with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

import forkrun


class AtLeast(forkrun.Filter):
    """Events in which a number per event is at least `least`."""

    def __init__(self, column: str, least: float) -> None:
        self.column, self.least = column, np.float32(least)
        self.consumes = (column,)

    def filter(self, block: forkrun.EventBlock) -> npt.NDArray[np.bool_]:
        """The column is float32, and so is what it is compared with."""
        accept: npt.NDArray[np.bool_] = block[self.column] >= self.least
        return accept


class Reads(forkrun.Analyzer):
    """Has columns read before it is called, by all threads at the same time."""

    concurrency = "reentrant"

    def __init__(self, columns: Sequence[str]) -> None:
        self.consumes = tuple(columns)

    def analyze(self, block: forkrun.EventBlock) -> None:
        """Nothing."""
