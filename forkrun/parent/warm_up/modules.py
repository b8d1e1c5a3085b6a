"""Modules that cover common operations of users' modules."""

from __future__ import annotations

from typing import Any

import numpy as np

import forkrun
from forkrun.base.awkward_array import ak
from forkrun.modules.block import EventBlock

_N_EVENTS = 4


class Select(forkrun.Filter):
    consumes = ("Muon_pt", "Muon_charge")

    def filter(self, block: EventBlock) -> Any:
        good = (block["Muon_pt"] > 1) & (abs(block["Muon_charge"]) < 5)
        return ak.to_numpy(ak.sum(good, axis=1) >= 0) | ak.to_numpy(ak.any(good, axis=1))


class Make(forkrun.Producer):
    consumes = ("Muon_pt",)
    produces = {"HT": "float64", "GoodMuon_pt": "float32[]"}

    def produce(self, block: EventBlock) -> dict[str, Any]:
        pt = block["Muon_pt"]
        pairs = ak.combinations(pt[ak.argsort(pt, axis=1, ascending=False)], 2)
        at_least_two = pt[ak.num(pt) >= 2]
        np.hypot(ak.to_numpy(at_least_two[:, 0]), ak.to_numpy(at_least_two[:, 1]))
        ak.flatten(ak.where(pairs["0"] > pairs["1"], pairs["0"], 0))
        ak.fill_none(ak.max(pt, axis=1), 0)
        return {
            "HT": ak.to_numpy(ak.sum(ak.values_astype(pt, np.float64), axis=1)),
            "GoodMuon_pt": pt[pt > 1],
        }


class Sum(forkrun.Analyzer):
    consumes = ("Muon_pt", "HT", "GoodMuon_pt")

    def analyze(self, block: EventBlock) -> None:
        ak.sum(block["GoodMuon_pt"], axis=1)
        ak.to_numpy(ak.num(block.selected["Muon_pt"]))


class Fill(forkrun.Analyzer):
    consumes = ("MET_sum",)

    def __init__(self) -> None:
        import hist

        axis = hist.axis.Regular(10, 0, 10, name="n")
        self.n = self.book("n", hist.Hist(axis, storage=hist.storage.Weight()))

    def analyze(self, block: EventBlock) -> None:
        self.n.fill(block["MET_sum"])
        self.n.fill(block.selected["MET_sum"])


class Plain(forkrun.Analyzer):
    """Operations common to all modules, without Awkward Arrays."""

    consumes = ()

    def post_fork(self, child: int) -> None:
        self.child = child

    def begin_job(self) -> None:
        self.weights = np.ones(_N_EVENTS)

    def analyze(self, block: EventBlock) -> None:
        self.n_events = block.n_events
