"""Modules that keep what they should not."""

from __future__ import annotations

import time

import numpy as np

import forkrun


class Grows(forkrun.Filter):
    """Keeps so much memory of each call that is not the first, and sleeps."""

    consumes = ()

    def __init__(self, megabytes: float, seconds: float = 0.0) -> None:
        self.megabytes, self.seconds = megabytes, seconds
        self.held: list[np.ndarray] = []

    def filter(self, block):  # type: ignore[no-untyped-def]
        self.held.append(np.ones(round(self.megabytes * 125_000)))
        time.sleep(self.seconds)
        return np.ones(len(block), dtype=bool)


class Steady(forkrun.Producer):
    """Makes a column and much that it does not keep."""

    consumes = ()
    produces = {"weight": "float64"}

    def produce(self, block):  # type: ignore[no-untyped-def]
        much = np.ones(30 * 125_000)
        time.sleep(0.02)
        return {"weight": np.full(len(block), much[0])}


class Holds(forkrun.Analyzer):
    """Keeps the columns of each block, which are the core's memory, and small objects of Python."""

    consumes = ("weight",)

    def __init__(self, columns: bool, objects: int = 0) -> None:
        self.columns, self.objects = columns, objects
        self.held: list[object] = []

    def analyze(self, block):  # type: ignore[no-untyped-def]
        if self.columns:
            self.held.append(block["weight"])
        self.held += [[float(number)] for number in range(self.objects)]


class GivesBack(Grows):
    """Keeps what some calls have made, then lets go of it."""

    def filter(self, block):  # type: ignore[no-untyped-def]
        if len(self.held) == 5:
            self.held.clear()
        return super().filter(block)  # type: ignore[no-untyped-call]
