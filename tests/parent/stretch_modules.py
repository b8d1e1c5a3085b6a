"""Analyzers that look at the lumis of their blocks."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import hist
import numpy as np

import forkrun


class Weighted(forkrun.Analyzer):
    """Weights of every size, drawn for each event. Notes the lumis of each block in a file."""

    consumes = ("event", "run", "luminosityBlock")

    def __init__(self, notes: str = "") -> None:
        self.notes = Path(notes) if notes else None
        axis = hist.axis.Regular(5, 0, 400, name="event")
        self.weights = self.book("weights", hist.Hist(axis, storage=hist.storage.Weight()))
        self.counts = self.book("counts", hist.Hist(axis, storage=hist.storage.Double()))
        self.mean = self.book("mean", hist.Hist(axis, storage=hist.storage.WeightedMean()))

    def analyze(self, block: Any) -> None:
        np.testing.assert_array_equal(block.runs, block["run"])
        np.testing.assert_array_equal(block.lumis, block["luminosityBlock"])
        for run, lumi, first, last in block.lumi_ranges:
            assert set(block["run"][first:last].tolist()) == {run}
            assert set(block["luminosityBlock"][first:last].tolist()) == {lumi}
        assert block.lumi_ranges[-1].last == len(block)
        if self.notes:
            with self.notes.open("a") as notes:
                notes.write(f"{len(block)} {len(block.lumi_ranges)}\n")
        events = block["event"].astype(float)
        random = block.random
        weights = random.normal(0, 1) * 10.0 ** random.integers(-20, 20)
        self.weights.fill(events, weight=weights)
        self.counts.fill(events)
        self.mean.fill(events, weight=np.abs(weights), sample=random.normal(5, 1))


class OnMainThread(Weighted):
    """The same, which is called on the main thread alone. Notes how many threads there are."""

    def __init__(self, threads: str) -> None:
        super().__init__()
        self.threads = Path(threads)

    def analyze(self, block: Any) -> None:
        assert threading.current_thread() is threading.main_thread()
        with self.threads.open("a") as threads:
            threads.write(f"{len(os.listdir('/proc/self/task'))}\n")
        super().analyze(block)


class OneLumi(Weighted):
    """The same with blocks of one lumi."""

    one_lumi = True

    def analyze(self, block: Any) -> None:
        assert set(block["luminosityBlock"].tolist()) == {block.lumi}
        assert set(block["run"].tolist()) == {block.run}
        super().analyze(block)


class WithCallbacks(Weighted):
    """The same with callbacks of lumis."""

    def begin_lumi(self, run: int, lumi: int) -> None:
        self.open = (run, lumi)

    def analyze(self, block: Any) -> None:
        assert (block.run, block.lumi) == self.open
        super().analyze(block)


class Infinite(forkrun.Analyzer):
    """One weight of 384 is infinite."""

    consumes = ("event",)

    def __init__(self) -> None:
        axis = hist.axis.Regular(5, 0, 400, name="event")
        self.weights = self.book("weights", hist.Hist(axis, storage=hist.storage.Weight()))

    def analyze(self, block: Any) -> None:
        self.weights.fill(block["event"], weight=np.where(block["event"] == 300, np.inf, 1.0))


class Deadly(forkrun.Analyzer):
    """Kills the process at one event."""

    consumes = ("event",)

    def __init__(self, event: int) -> None:
        self.event = event
        axis = hist.axis.Regular(5, 0, 2000, name="event")
        self.events = self.book("events", hist.Hist(axis, storage=hist.storage.Double()))

    def analyze(self, block: Any) -> None:
        if (block["event"] == self.event).any():
            os.kill(os.getpid(), signal.SIGKILL)
        self.events.fill(block["event"])


class Naive(forkrun.Analyzer):
    """Takes it that a block has one lumi."""

    consumes = ("event",)

    def analyze(self, block: Any) -> None:
        print(block.lumi)
