"""A module that takes its time, without a CPU: many children are as quick as on many cores."""

from __future__ import annotations

import time

import numpy as np

import forkrun


class TakesTime(forkrun.Analyzer):
    """Each event takes `event_s`; the first `n_first` take `factor` times as long, as those of data
    with high pile-up at the begin of a run."""

    consumes = ("event",)

    def __init__(self, event_s: float = 5e-4, n_first: int = 0, factor: float = 10.0) -> None:
        self.event_s, self.n_first, self.factor = event_s, n_first, factor

    def analyze(self, block):  # type: ignore[no-untyped-def]
        is_first = np.asarray(block["event"]) <= self.n_first
        time.sleep(self.event_s * float(np.where(is_first, self.factor, 1.0).sum()))
