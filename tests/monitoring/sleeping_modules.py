"""Modules of children whose memory is measured."""

from __future__ import annotations

import time

import numpy as np

import forkrun


class Sleeps(forkrun.Filter):
    """Holds memory of its own from its first call on, and sleeps at each event."""

    consumes = ()

    def __init__(self, megabytes: float, seconds: float) -> None:
        self.megabytes, self.seconds = megabytes, seconds
        self.held: list[np.ndarray] = []

    def filter(self, block):  # type: ignore[no-untyped-def]
        if not self.held:
            self.held.append(np.ones(round(self.megabytes * 125_000)))
        time.sleep(self.seconds * len(block))
        return np.zeros(len(block), dtype=bool)
