"""Modules and conditions of the jobs that are measured."""

from pathlib import Path

import numpy as np

import forkrun


def numbers():
    """Objects of Python, 20 MB of them, and an array."""
    return {"objects": [float(i) for i in range(600_000)], "array": np.ones(1_000_000)}


class Reads(forkrun.Analyzer):
    """Reads every number of its conditions."""

    consumes = ()

    def analyze(self, block):
        numbers = self.conditions["numbers"]
        self.sum = sum(numbers["objects"]) + float(numbers["array"].sum())


class Writes(forkrun.Analyzer):
    """Has a table from before the fork, writes to a half of it, and makes one of 16 MB; prints the
    private memory of its process."""

    consumes = ()

    def __init__(self):
        self.table = np.ones(1_000_000)

    def analyze(self, block):
        self.table[:500_000] += 1.0
        if not hasattr(self, "new"):
            self.new = np.ones(2_000_000)

    def end_job(self):
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
        private = sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))
        print(f"private: {private} kB", flush=True)
