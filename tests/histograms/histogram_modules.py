"""Analyzers that book histograms of every kind."""

from __future__ import annotations

from typing import Any

import hist
import numpy as np

import forkrun


class Variations(forkrun.Analyzer):
    """Fills categories that it meets: each lumi has some of its own."""

    consumes = ("event", "luminosityBlock")

    def __init__(self) -> None:
        new = hist.Hist.new
        numbers = hist.axis.Regular(4, 0, 101, name="event")
        self.names = self.book(
            "names", new.StrCat(["nominal"], growth=True, name="v").Reg(4, 0, 101).Weight()
        )
        self.ids = self.book(
            "ids", hist.Hist(hist.axis.IntCategory([13], growth=True, name="id"), numbers)
        )
        self.integers = self.book("integers", new.Int(2, 3, growth=True, name="n").Int64())
        self.mean = self.book("mean", new.Int(0, 3, name="n").Mean())

    def analyze(self, block: Any) -> None:
        events, lumis = block["event"].astype(float), block["luminosityBlock"]
        for lumi, event in zip(lumis.tolist(), events.tolist(), strict=True):
            name = f"lumi{9 - lumi}" if event % 2 else "nominal"
            self.names.fill(name, event, weight=0.5)
            self.ids.fill(100 - lumi, event)
        self.integers.fill(lumis)
        self.mean.fill(lumis, sample=events)


class Booking(forkrun.Analyzer):
    """Books one histogram, made by `code`, and does nothing."""

    consumes = ("event",)

    def __init__(self, code: str, name: str = "h") -> None:
        self.book(name, eval(code, {"hist": hist, "np": np}))

    def analyze(self, block: Any) -> None:
        pass


class Weighted(forkrun.Analyzer):
    """Fills weights of both signs over many orders of magnitude, and profiles of them."""

    consumes = ("event", "luminosityBlock")

    def __init__(self) -> None:
        new = hist.Hist.new
        self.weights = self.book("weights", new.Reg(3, 0, 101, name="event").Weight())
        self.double = self.book("double", new.Reg(3, 0, 101, name="event").Double())
        self.profile = self.book("profile", new.Reg(3, 0, 101, name="event").WeightedMean())
        self.names = self.book("names", new.StrCat([], growth=True, name="v").Weight())

    def analyze(self, block: Any) -> None:
        event = block["event"].astype(float)
        weights = np.sin(event * 7) * 10 ** (20 * np.cos(event))
        self.weights.fill(event, weight=weights)
        self.double.fill(event=event, weight=weights)
        self.profile.fill(event, weight=weights, sample=1 / event)
        self.names.fill([f"v{int(n) % 4}" for n in event], weight=weights)
