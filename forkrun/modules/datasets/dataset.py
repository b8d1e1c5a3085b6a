"""Datasets as modules see them: `events.dataset`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from forkrun.errors import ConfigError

_PER_FB = 1000.0
"""Cross sections are in pb, luminosities in 1/fb."""


class Dataset(Struct, frozen=True):
    """A dataset. `cross_section` in pb; `sum_of_weights`: of all generated events; `luminosity`: of
    the job, in 1/fb."""

    name: str
    cross_section: float | None = None
    is_data: bool = False
    metadata: Mapping[str, Any] = {}
    sum_of_weights: float | None = None
    luminosity: float | None = None

    @property
    def weight(self) -> float:
        """Factor for weights of generated events: luminosity times cross section, divided by the
        sum of weights; 1 for data. Raises ConfigError if one of these is unknown."""
        if self.is_data:
            return 1.0
        of = f'of the dataset "{self.name}"'
        luminosity = _given(self.luminosity, "job.luminosity (1/fb)")
        cross_section = _given(self.cross_section, f"the cross_section (pb) {of}")
        sum_of_weights = _given(self.sum_of_weights, f"the sum_of_weights {of}")
        return luminosity * _PER_FB * cross_section / sum_of_weights


def _given(value: float | None, what: str) -> float:
    if value is None:
        raise ConfigError(f"events.dataset.weight needs {what}")
    return value


class Datasets(Struct, frozen=True):
    """All datasets of a job. `of_file`: number of the dataset of each input file."""

    datasets: Sequence[Dataset]
    of_file: Sequence[int]

    @property
    def names(self) -> list[str]:
        return [dataset.name for dataset in self.datasets]

    @property
    def sums_of_weights(self) -> dict[str, float]:
        """Known sums of weights, by dataset."""
        known = {dataset.name: dataset.sum_of_weights for dataset in self.datasets}
        return {name: total for name, total in known.items() if total is not None}

    def number(self, file: int) -> int:
        """Number of the dataset that a file belongs to."""
        return self.of_file[file]
