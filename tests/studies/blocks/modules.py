"""Modules that are right, and modules whose results depend on blocks."""

from __future__ import annotations

import awkward as ak
import hist
import numpy as np

import forkrun


class CountJets(forkrun.Producer):
    """Right: one value per event, and any number."""

    consumes = ("Jet_pt",)
    produces = {"n_jets": "int32", "Hard_pt": "float32[]"}

    def produce(self, block):  # type: ignore[no-untyped-def]
        pt = block["Jet_pt"]
        return {"n_jets": ak.num(pt), "Hard_pt": pt[pt > 20]}


class Smear(forkrun.Producer):
    """Right: random numbers of events."""

    consumes = ()
    produces = {"Smeared": "float32"}

    def produce(self, block):  # type: ignore[no-untyped-def]
        return {"Smeared": block.random.normal()}


class LumiMean(forkrun.Producer):
    """Right: one lumi per block, whose number the block knows."""

    consumes = ()
    one_lumi = True
    produces = {"of_lumi": "int64"}

    def produce(self, block):  # type: ignore[no-untyped-def]
        return {"of_lumi": np.full(len(block), block.lumi)}


class TwoJets(forkrun.Filter):
    """Right."""

    consumes = ("n_jets",)

    def filter(self, block):  # type: ignore[no-untyped-def]
        return block["n_jets"] >= 2


class Plot(forkrun.Analyzer):
    """Right, or with weights that add up to one in each block."""

    consumes = ()

    def __init__(self, normalise: bool = False) -> None:
        axis = hist.axis.Regular(5, 0, 1000, name="event")
        self.normalise = normalise
        self.histogram = self.book("events", hist.Hist(axis, storage=hist.storage.Weight()))

    def analyze(self, block):  # type: ignore[no-untyped-def]
        events = block.events[block.mask].astype(float)
        weight = 1 / max(len(events), 1) if self.normalise else 1.0
        self.histogram.fill(events, weight=np.full(len(events), weight))


class JetShare(forkrun.Producer):
    """Wrong: the sum is that of the block."""

    consumes = ("n_jets",)
    produces = {"share": "float64"}

    def produce(self, block):  # type: ignore[no-untyped-def]
        return {"share": (1 + block["n_jets"]) / (1 + block["n_jets"]).sum()}


class SequentialNoise(forkrun.Producer):
    """Wrong: a generator that goes on from one block to the next."""

    consumes = ()
    produces = {"noise": "float64"}

    def __init__(self) -> None:
        self.random = np.random.default_rng(1)

    def produce(self, block):  # type: ignore[no-untyped-def]
        return {"noise": self.random.normal(size=len(block))}


class LateHalf(forkrun.Filter):
    """Wrong: the second half of the block."""

    consumes = ()

    def filter(self, block):  # type: ignore[no-untyped-def]
        return 2 * np.arange(len(block)) >= len(block) - 1


class NeedsSeveral(forkrun.Filter):
    """Fails for blocks of one event, but the first."""

    consumes = ()

    def filter(self, block):  # type: ignore[no-untyped-def]
        if len(block) < 2 and block.events[0] > 1:
            raise ValueError("two events are needed")
        return np.ones(len(block), dtype=bool)
