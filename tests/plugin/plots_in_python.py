"""The twin of plots.cpp."""

from __future__ import annotations

from typing import Any

import hist
import numpy as np

import forkrun


class Plots(forkrun.Analyzer):
    consumes = ("event",)

    def __init__(self) -> None:
        axis, weight = hist.axis, hist.storage.Weight()
        met = axis.Regular(40, 0, 100, label="MET [GeV]")
        edges = axis.Variable([0, 10, 30, 100], label="MET")
        numbers = axis.Integer(0, 3, overflow=False, label="n")
        self.regular = self.book("regular", hist.Hist(met, storage=weight, label="MET"))
        self.plane = self.book("plane", hist.Hist(edges, numbers, storage=weight))
        circle = axis.Regular(5, 0, 7, circular=True, label="phi")
        self.circle = self.book("circle", hist.Hist(circle, storage=weight))
        texts = axis.StrCategory(["odd"], label="parity")
        self.texts = self.book("texts", hist.Hist(texts, storage=weight))
        last = axis.StrCategory(["n9"], growth=True, label="last")
        rest = axis.IntCategory([2], growth=True, label="rest")
        self.growing = self.book("growing", hist.Hist(last, rest, storage=weight))
        mean = axis.Regular(10, 0, 100, label="MET")
        self.profile = self.book("profile", hist.Hist(mean, storage=hist.storage.WeightedMean()))

    def analyze(self, block: Any) -> None:
        event = block["event"].astype(np.int64)
        met = (event * 37 % 1009) / 9 - 3
        weight = 1 / (5 + met) * np.where(event % 3 == 0, -1e9, 1)
        self.regular.fill(met)
        self.plane.fill(met, event % 5 - 1, weight=weight)
        self.circle.fill(met, weight=weight)
        self.texts.fill(np.where(event % 2 == 1, "odd", "even"), weight=weight)
        self.growing.fill([f"n{n % 10}" for n in event], event % 4, weight=weight)
        self.profile.fill(met, weight=weight, sample=event.astype(float))
