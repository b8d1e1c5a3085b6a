"""Conditions and modules for bench_memory.py."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np

import forkrun

OBJECTS_PER_GB = 6_300_000  # tuples of a float and a text


def objects(gigabytes: float) -> list[tuple[float, str]]:
    """Python objects: a table as people write it."""
    return [(float(i), f"k{i}") for i in range(round(gigabytes * OBJECTS_PER_GB))]


def arrays(gigabytes: float) -> list[Any]:
    """Arrays of 8 MB."""
    return [np.full(1_000_000, float(i)) for i in range(round(gigabytes * 125))]


def half_a_gb_of_each() -> dict[str, Any]:
    """1 GB in all."""
    return {"objects": objects(0.5), "arrays": arrays(0.5)}


class ReadsAll(forkrun.Filter):
    """Every object and every array, once in each child."""

    consumes = ("Muon_pt",)
    sum = 0.0
    is_new = True

    def filter(self, block: Any) -> Any:
        if self.is_new:
            Path(os.environ["FIRST_EVENTS"], str(os.getpid())).write_text(str(time.time()))
            self.is_new = False
        if not self.sum:
            table = self.conditions["big"]
            self.sum = sum(gain for gain, _ in table["objects"])
            self.sum += sum(float(a.sum()) for a in table["arrays"])
        return np.ones(len(block), dtype=bool)


class ReadsNothing(ReadsAll):
    """The same job without a look at the conditions."""

    sum = 1.0
