"""Repeats of measurements, and their spread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

from msgspec import Struct

from forkrun.base.progress import make_progress
from forkrun.studies.frame.machine import LoadWatch, OtherLoad

N_REPEATS = 3


class Repeated(Struct, frozen=True):
    """Values of the repeats, in order."""

    repeats: tuple[float, ...]

    @property
    def value(self) -> float:
        """The median: insensitive to one disturbed repeat."""
        return float(median(self.repeats))

    @property
    def noise(self) -> float:
        """Largest minus smallest, relative to the median."""
        value, span = self.value, max(self.repeats) - min(self.repeats)
        return span / abs(value) if value else 0.0

    def over(self, other: Repeated) -> Repeated:
        """Ratio to another value, repeat by repeat."""
        pairs = zip(self.repeats, other.repeats, strict=True)
        return Repeated(tuple(one / base for one, base in pairs))

    def to_json(self) -> dict[str, Any]:
        return {"value": self.value, "noise": self.noise, "repeats": list(self.repeats)}


class Row(Struct, frozen=True):
    """One way. `values`: by column key; a way may lack some."""

    name: str
    values: dict[str, Repeated]

    @classmethod
    def of(cls, name: str, repeats: Sequence[Mapping[str, float]]) -> Row:
        """Values of each repeat, by key."""
        keys = dict.fromkeys(key for each in repeats for key in each)
        values = {key: Repeated(tuple(r[key] for r in repeats if key in r)) for key in keys}
        return cls(name, values)

    def plus(self, **values: Repeated) -> Row:
        """The row with more values."""
        return Row(self.name, {**self.values, **values})

    def with_ratio(self, key: str, of: str, unit: float) -> Row:
        """Adds a value: another one in units of `unit`."""
        return self.plus(**{key: Repeated(tuple(v / unit for v in self.values[of].repeats))})

    def __getitem__(self, key: str) -> float:
        return self.values[key].value


Way = Callable[[], Mapping[str, float]]
"""Measures once: a value for each key."""


def measure_ways(
    ways: Mapping[str, Way], n_repeats: int = N_REPEATS, *, quiet: bool = False
) -> tuple[dict[str, Row], OtherLoad]:
    """Runs every way once per round, so that changes on the machine affect all of them alike; rows
    by name. Shows progress on stderr. Raises errors of the ways."""
    watch, found = LoadWatch(), {name: list[Mapping[str, float]]() for name in ways}
    progress = make_progress(n_repeats * len(ways), "measured", quiet)
    try:
        for n_done in range(n_repeats * len(ways)):
            name = [*ways][n_done % len(ways)]
            progress.note(name)
            progress.update(n_done)
            found[name].append(ways[name]())
        progress.update(n_repeats * len(ways))
    finally:
        progress.close()
    return {name: Row.of(name, each) for name, each in found.items()}, watch.end()


def doubling(first: int, last: int) -> list[int]:
    """first, twice as many, …, and the last."""
    numbers = []
    while first < last:
        numbers.append(first)
        first *= 2
    return [*numbers, last]
