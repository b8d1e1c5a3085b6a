"""Modules with callbacks of lumis and runs, beside others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import awkward as ak
import hist
import numpy as np

import forkrun


class Rates(forkrun.Analyzer):
    """Sums what it has seen of a lumi when that ends."""

    consumes = ("Jet_pt", "event")

    def __init__(self) -> None:
        axis = hist.axis.Regular(10, 0, 40, name="lumi")
        self.rate = self.book("rate", hist.Hist(axis, storage=hist.storage.Weight()))

    def begin_lumi(self, run: int, lumi: int) -> None:
        self.open, self.n = (run, lumi), 0

    def analyze(self, block: Any) -> None:
        assert (block.run, block.lumi) == self.open
        self.n += len(block.selected)
        self.rate.fill(block.selected.lumis)
        self.accumulate("order", block.selected["event"].tolist())

    def end_lumi(self, run: int, lumi: int) -> None:
        assert (run, lumi) == self.open
        self.accumulate("events", {f"{run}:{lumi}": self.n})


class Calibrated(forkrun.Producer):
    """Makes columns with what it looks up when a lumi begins. Smears with random numbers."""

    consumes = ("Jet_pt",)
    produces = {"Good_pt": "float32[]", "n_good": "int32"}

    def begin_run(self, run: int) -> None:
        self.run = run

    def begin_lumi(self, run: int, lumi: int) -> None:
        assert run == self.run
        self.scale = 100 * run + lumi

    def produce(self, block: Any) -> Mapping[str, Any]:
        assert 100 * block.run + block.lumi == self.scale
        pt = block["Jet_pt"] * self.scale + block.random.normal(0, 1, like=block["Jet_pt"])
        return {"Good_pt": pt[pt > 20 * self.scale], "n_good": ak.num(pt)}


class Varied(Calibrated):
    """The same with a systematic variation."""

    variations = {"jes": ("up", "down")}


class Prescaled(forkrun.Filter):
    """Accepts some events of each lumi, none of every fifth."""

    consumes = ("event", "n_good")
    one_lumi = True

    def filter(self, block: Any) -> Any:
        return (block["event"] % block.lumi != 1) & np.full(len(block), block.lumi % 5 != 0)


class Blocks(forkrun.Analyzer):
    """Notes how many events it gets in a call, of how many lumis."""

    consumes = ("Good_pt",)

    def __init__(self, notes: str) -> None:
        self.notes = Path(notes)
        axis = hist.axis.Regular(20, 0, 20000, name="pt")
        self.pt = self.book("pt", hist.Hist(axis, storage=hist.storage.Weight()))

    def analyze(self, block: Any) -> None:
        with self.notes.open("a") as notes:
            notes.write(f"{len(block)} {len(block.lumi_ranges)}\n")
        self.pt.fill(ak.to_numpy(ak.flatten(block["Good_pt"])))
