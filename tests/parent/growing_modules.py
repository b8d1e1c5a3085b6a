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
