"""Statistics that describe a graph of modules with times."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec import Struct, json


class Statistics(Struct, frozen=True):
    """Statistics of a graph; quantiles are at equal steps from 0 to 1, with interpolation.

    `n_levels` : modules on the longest chain of dependencies. `level_quantiles` : relative level of
    a module between the first (0) and the last (1). `input_quantiles` : number of products consumed
    by a producer. `log_time_quantiles` : natural logarithm of a module's mean time [s].
    `spread_quantiles` : standard deviation of that logarithm over events. `correlation` : of the
    logarithm between modules of the same event. `filter_inputs` : share of all producers that a
    filter consumes directly. `spine_share` : probability of placing the longest times on the chain
    through all levels, which becomes the critical path. `one`, `unsafe` : shares of modules."""

    n_modules: int
    n_filters: int
    n_levels: int
    level_quantiles: tuple[float, ...]
    input_quantiles: tuple[float, ...]
    log_time_quantiles: tuple[float, ...]
    spread_quantiles: tuple[float, ...]
    correlation: float
    filter_inputs: float
    spine_share: float
    one: float
    unsafe: float


def draw(
    quantiles: tuple[float, ...], n: int, random: np.random.Generator
) -> npt.NDArray[np.float64]:
    """Draws (n,) values, one from each n-th part of the distribution, in random order."""
    places = (np.arange(n) + random.uniform(size=n)) / n
    values = np.interp(places, np.linspace(0, 1, len(quantiles)), quantiles)
    return random.permutation(values)


PRESETS = json.decode(
    Path(__file__).with_name("presets.json").read_bytes(), type=dict[str, Statistics]
)
