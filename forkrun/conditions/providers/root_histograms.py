"""Histograms of ROOT files, as tables of scale factors."""

from __future__ import annotations

from forkrun import _core
from forkrun.conditions.binned_table import BinnedTable, Outside
from forkrun.conditions.iov import Iov
from forkrun.conditions.provider import ConditionsProvider


class RootHistogramProvider(ConditionsProvider):
    """A BinnedTable of a TH1, TH2 or TH3. `histogram`: its name, with folders ("muon/id")."""

    depends_on_iov = False

    def __init__(self, histogram: str, outside: Outside = "nearest") -> None:
        self._histogram = histogram
        self._outside = outside

    def load(self, file: str | None, iov: Iov) -> BinnedTable:
        read = _core.read_histogram(str(file), self._histogram)
        return BinnedTable(
            read["edges"], read["values"], read["variances"], self._outside, read["axis_titles"]
        )
