"""The analysis as a module of forkrun."""

from __future__ import annotations

import sys
from pathlib import Path

import forkrun

sys.path.insert(0, str(Path(__file__).parent))

from dimuons import COLUMNS, fill, make_histograms


class Dimuons(forkrun.Analyzer):
    """Fills the histograms of the analysis."""

    consumes = COLUMNS

    def __init__(self) -> None:
        self.histograms = {name: self.book(name, h) for name, h in make_histograms().items()}

    def analyze(self, block: forkrun.EventBlock) -> None:
        fill(self.histograms, block)
