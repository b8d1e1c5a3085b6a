"""Histograms of an analyzer, separated by dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from forkrun.histograms.stacked import MOST_AXES, stacked
from forkrun.histograms.sums import HistogramSums

if TYPE_CHECKING:  # it needs hist, which merges do without
    from forkrun.histograms.booking import BookedHistogram

AXIS = "dataset"


class HistogramsByDataset:
    """Histograms of a module, which fills them for one dataset after the other. `datasets`: names
    of all; `n_more`: number of axes added after that of datasets."""

    def __init__(
        self,
        label: str,
        datasets: Sequence[str],
        booked: Mapping[str, BookedHistogram],
        n_more: int,
    ) -> None:
        self._label, self._datasets, self._booked = label, datasets, booked
        self._most_axes = MOST_AXES - 1 - n_more
        self._present: int | None = None
        self._sums: dict[str, dict[str, HistogramSums]] = {}

    def enter(self, dataset: int) -> None:
        """Assigns the following fills to this dataset."""
        if self._present not in (None, dataset):
            self._store_fills()
        self._present = dataset

    def take(self) -> list[tuple[str, HistogramSums]]:
        """Names and sums since the last call: with an axis of datasets; or one for each dataset,
        NAME_DATASET, where a ROOT file cannot store that axis."""
        self.enter(self._present or 0)
        self._store_fills()
        taken: list[tuple[str, HistogramSums]] = []
        for name, parts in self._sums.items():
            if self._has_room(next(iter(parts.values())).axes):
                taken.append((name, stacked(AXIS, self._datasets, parts)))
                continue
            empty = self._booked[name].take(self._label)  # state right after the last call
            taken += [(f"{name}_{d}", parts.get(d, empty)) for d in self._datasets]
        self.clear()
        return taken

    @property
    def named(self) -> Sequence[str]:
        """Datasets in the names of histograms."""
        booked = self._booked.values()
        return [] if all(self._has_room(b.histogram.axes) for b in booked) else self._datasets

    def _has_room(self, axes: Sequence[object]) -> bool:
        return len(axes) <= self._most_axes

    def clear(self) -> None:
        """Discards the stored sums."""
        self._sums, self._present = {}, None

    def _store_fills(self) -> None:
        assert self._present is not None
        dataset = self._datasets[self._present]
        for name, booked in self._booked.items():
            sums, of_name = booked.take(self._label), self._sums.setdefault(name, {})
            if dataset in of_name:
                of_name[dataset].add(sums)
            else:
                of_name[dataset] = sums
            booked.clear()
