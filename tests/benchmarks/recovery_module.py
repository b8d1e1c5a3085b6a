"""The module of recovery.py."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

import forkrun


class Sleeps(forkrun.Filter):
    """Takes a given time per event, and notes when: a line "begin end" per call, in a file per
    process. Sleeping stands for CPU time, so that children do not wait for cores."""

    consumes = ("Jet_pt",)

    def __init__(self, per_event_s: float, calls: str) -> None:
        """`calls`: the folder of these files."""
        self._per_event_s = per_event_s
        self._calls = calls

    def filter(self, block: Any) -> Any:
        begin_s = time.time()
        table = self.conditions["big"]
        float(table[block.events % len(table)].sum())
        time.sleep(self._per_event_s * len(block))
        with open(f"{self._calls}/{os.getpid()}", "a") as file:
            file.write(f"{begin_s} {time.time()}\n")
        return np.ones(len(block), dtype=bool)
