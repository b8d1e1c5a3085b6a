"""Modules that tests run: a selection that real simulated and recorded files have events for. Those
of most jobs take columns as NumPy arrays: with Awkward a call takes 20 times as long, which is most
of the time of a small job."""

from __future__ import annotations

import time
from typing import Any

import hist
import numpy as np

import forkrun
from forkrun.modules.columns import jagged_array, offsets_of, values_of


class ManyJets(forkrun.Filter):
    """Events with at least `n` jets above `pt_min` [GeV]."""

    consumes = ("Jet_pt",)

    def __init__(self, n: int = 2, pt_min: float = 30.0) -> None:
        self.n = n
        self.pt_min = pt_min

    def filter(self, block):  # type: ignore[no-untyped-def]
        jets = block["Jet_pt"]
        n_up_to = _sums_up_to(values_of(jets) > self.pt_min)
        return np.diff(n_up_to[offsets_of(jets)]) >= self.n


class JetSums(forkrun.Producer):
    """HT: (n_events,) float64; HardJet_pt: (n_events, n) float32, above 30 GeV."""

    consumes = ("Jet_pt",)
    produces = {"HT": "float64", "HardJet_pt": "float32[]"}

    def produce(self, block):  # type: ignore[no-untyped-def]
        offsets, pt = offsets_of(block["Jet_pt"]), values_of(block["Jet_pt"])
        event_of_jet = np.repeat(np.arange(len(block)), np.diff(offsets))
        is_hard = pt > 30
        return {
            "HT": np.bincount(event_of_jet, pt, len(block)).astype(np.float64),
            "HardJet_pt": jagged_array(_sums_up_to(is_hard)[offsets], pt[is_hard]),
        }


class TwicePt(forkrun.Producer):
    """A new column that goes with the jets of the input."""

    consumes = ("Jet_pt",)
    produces = {"Jet_twice": "float32[]"}

    def produce(self, block):  # type: ignore[no-untyped-def]
        return {"Jet_twice": 2 * block["Jet_pt"]}


class Plots(forkrun.Analyzer):
    """Number of jets of the selected events."""

    consumes = ("Jet_pt",)

    def __init__(self) -> None:
        axis = hist.axis.Regular(20, 0, 20, name="n", label="jets")
        self.jets = self.book("n_jets", hist.Hist(axis, storage=hist.storage.Weight()))

    def analyze(self, block):  # type: ignore[no-untyped-def]
        self.jets.fill(np.diff(offsets_of(block["Jet_pt"]))[block.selected.mask])


def _sums_up_to(is_hard: Any) -> Any:
    """Number of true values before each place, and of all."""
    return np.concatenate([[0], np.cumsum(is_hard)])


class LumiByLumi(forkrun.Analyzer):
    """Wants one lumi at a time for all: no commit of its job goes beyond a lumi."""

    consumes = ()
    one_lumi = "job"

    def analyze(self, block):  # type: ignore[no-untyped-def]
        pass


class Sleep(forkrun.Analyzer):
    """`time_s` per event; `factor` times that for the first `n_first`."""

    consumes = ("event",)

    def __init__(self, n_first: int, factor: float, time_s: float) -> None:
        self.n_first = n_first
        self.factor = factor
        self.time_s = time_s

    def analyze(self, block):  # type: ignore[no-untyped-def]
        is_first = np.asarray(block["event"]) <= self.n_first
        time.sleep(float(np.where(is_first, self.factor, 1.0).sum()) * self.time_s)


class SleepByLumi(Sleep):
    """The same with blocks of one lumi: units of several are not processed together."""

    one_lumi = "job"


class Fails(forkrun.Filter):
    """Does something terrible at one event."""

    consumes = ("Jet_pt",)

    def __init__(self, event: int, how: str = "raise") -> None:
        self.event = event
        self.how = how

    def filter(self, block):  # type: ignore[no-untyped-def]
        if self.event in block.events:
            fail(self.how)
        return np.ones(len(block), dtype=bool)


def fail(how: str) -> None:
    """`raise`, or the name of a signal."""
    import os
    import signal

    if how == "raise":
        raise ValueError("the calibration has no such jet")
    os.kill(os.getpid(), getattr(signal, how))


class Waits(forkrun.Filter):
    """Waits until the file `until` exists; at one event, or at all."""

    consumes = ()

    def __init__(self, until: str, event: int | None = None) -> None:
        self.until = until
        self.event = event

    def filter(self, block):  # type: ignore[no-untyped-def]
        import pathlib
        import time

        is_here = self.event is None or self.event in block.events
        while is_here and not pathlib.Path(self.until).exists():
            time.sleep(0.01)
        return np.ones(len(block), dtype=bool)


class Some(forkrun.Filter):
    """Events with a number that `every` divides, and all from `whole_from` on."""

    consumes = ()

    def __init__(self, every: int, whole_from: int | None = None) -> None:
        self.every = every
        self.whole_from = whole_from

    def filter(self, block):  # type: ignore[no-untyped-def]
        mask = block.events % self.every == 0
        if self.whole_from is not None:
            mask |= block.events >= self.whole_from
        return mask


class StartsThread(forkrun.Filter):
    """Breaks the rule of one thread."""

    consumes = ()

    def __init__(self) -> None:
        import threading

        threading.Thread(target=threading.Event().wait, name="jet-server", daemon=True).start()

    def filter(self, block):  # type: ignore[no-untyped-def]
        return np.ones(len(block), dtype=bool)


class SumsJets(forkrun.Analyzer):
    """Accumulates."""

    consumes = ("Jet_pt",)

    def analyze(self, block):  # type: ignore[no-untyped-def]
        self.accumulate("n_events", len(block))
        self.accumulate("sum_pt", values_of(block["Jet_pt"]))
