"""Costs of events: processing times in one thread of a child."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from forkrun.base.lumis import Integers
from forkrun.errors import ConfigError
from forkrun.studies.simulation.layout import Layout

Floats = npt.NDArray[np.float64]

MAX_CELLS = 1 << 22
"""Number of events above which costs are drawn for groups of consecutive events."""


class Costs(Struct, frozen=True, eq=False):
    """`entry` : (n_knots,) entries of all files in a row, rising; `before_s` : (n_knots,) time of
    all earlier entries [s]. Entries between two knots cost the same. `overhead_s`: of a stretch, if
    measured too."""

    name: str
    entry: Integers
    before_s: Floats
    overhead_s: float | None = None
    cpu_share: float = 1.0
    """CPU time divided by wall time of events."""

    def of(self, first: Integers, last: Integers) -> Floats:
        """(n,) times of the entries [first, last) [s]."""
        at = (np.interp(border, self.entry, self.before_s) for border in (last, first))
        times: Floats = next(at) - next(at)
        return times


class Shape(StrEnum):
    """Distribution of costs over events."""

    CONSTANT = "constant"
    EXPONENTIAL = "exponential"
    LOGNORMAL = "lognormal"


class CostModel(Struct, frozen=True):
    """Events of mean cost `mean_s`, with a standard deviation of `spread` times that; the first
    `first_fraction` of all events cost `first_factor` times as much. `per_lumi`: relative standard
    deviation of the mean from lumi to lumi."""

    shape: Shape = Shape.LOGNORMAL
    mean_s: float = 0.01
    spread: float = 0.5
    first_fraction: float = 0.0
    first_factor: float = 1.0
    per_lumi: float = 0.0

    @property
    def name(self) -> str:
        """The model in words."""
        spread = f" ± {100 * self.spread:.0f} %" if self.shape is Shape.LOGNORMAL else ""
        words = [f"{self.shape.value} {self.mean_s:g} s{spread}"]
        if self.first_fraction:
            words.append(f"the first {100 * self.first_fraction:g} % × {self.first_factor:g}")
        if self.per_lumi:
            words.append(f"lumis ± {100 * self.per_lumi:.0f} %")
        return ", ".join(words)


def parse_cost_model(text: str, first: str | None = None, per_lumi: float = 0.0) -> CostModel:
    """Parses KIND:MEAN[:SPREAD], and FRACTION:FACTOR of the first events. Raises ConfigError."""
    name, _, rest = text.partition(":")
    numbers = _numbers(rest)
    shapes = {shape.value: shape for shape in Shape}
    most = 2 if name == Shape.LOGNORMAL.value else 1
    if name not in shapes or not 1 <= len(numbers) <= most:
        raise ConfigError(
            f"--costs {text}: file not found; of costs that are drawn, write constant:MEAN,"
            " exponential:MEAN or lognormal:MEAN:SPREAD, for example lognormal:0.01:0.5"
        )
    if per_lumi < 0:
        raise ConfigError(f"--per-lumi {per_lumi}: must not be negative")
    model = replace(CostModel(shapes[name], per_lumi=per_lumi), mean_s=numbers[0])
    if most == len(numbers) == 2:
        model = replace(model, spread=numbers[1])
    return model if first is None else _with_first(model, first)


def _with_first(model: CostModel, text: str) -> CostModel:
    numbers = _numbers(text)
    if len(numbers) != 2 or not 0 < numbers[0] <= 1:
        raise ConfigError(f"--first {text}: write FRACTION:FACTOR, for example 0.03:10")
    return replace(model, first_fraction=numbers[0], first_factor=numbers[1])


def _numbers(text: str) -> list[float]:
    """Numbers between colons; empty if one of them is invalid or negative."""
    try:
        numbers = [float(word) for word in text.split(":")]
    except ValueError:
        return []
    return numbers if all(0 <= number < float("inf") for number in numbers) else []


def draw_costs(model: CostModel, layout: Layout, seed: int) -> Costs:
    """Draws costs; the same arguments give the same costs. For many events: sums of consecutive
    ones, with the right mean and standard deviation."""
    width = max(1, -(-layout.n_entries // MAX_CELLS))
    entry = np.append(np.arange(0, layout.n_entries, width, dtype=np.int64), layout.n_entries)
    rng = np.random.default_rng(seed)
    mean_s = np.full(len(entry) - 1, model.mean_s)
    mean_s[entry[:-1] < model.first_fraction * layout.n_entries] *= model.first_factor
    if model.per_lumi:
        mean_s *= _lumi_factors(model.per_lumi, layout, rng)[_range_of(entry[:-1], layout)]
    cell_s = _draw_sums(model, mean_s, np.diff(entry), rng)
    return Costs(model.name, entry, np.concatenate(([0.0], np.cumsum(cell_s))))


def _range_of(entry: Integers, layout: Layout) -> Integers:
    found: Integers = np.searchsorted(layout.lumi_range, entry, side="right") - 1
    return found


def _lumi_factors(spread: float, layout: Layout, rng: np.random.Generator) -> Floats:
    """(n_ranges,) factors with mean 1; ranges of the same lumi have the same factor."""
    keys, lumi = np.unique(layout.lumi_key, return_inverse=True)
    factors: Floats = _lognormal(np.ones(len(keys)), spread, rng)[lumi]
    return factors


def _draw_sums(
    model: CostModel, mean_s: Floats, n_events: Integers, rng: np.random.Generator
) -> Floats:
    """(n,) costs for groups of `n_events` events."""
    spread = 1.0 if model.shape is Shape.EXPONENTIAL else model.spread
    if model.shape is Shape.CONSTANT or spread == 0:
        return mean_s * n_events
    if model.shape is Shape.LOGNORMAL and n_events.max(initial=0) <= 1:
        return _lognormal(mean_s, spread, rng)
    # The sum of exponential costs has exactly a gamma distribution.
    return rng.gamma(n_events / spread**2, mean_s * spread**2)


def _lognormal(mean: Floats, spread: float, rng: np.random.Generator) -> Floats:
    """Log-normal values. `spread`: standard deviation divided by mean."""
    variance = np.log1p(spread**2)
    return mean * rng.lognormal(-variance / 2, np.sqrt(variance), len(mean))
