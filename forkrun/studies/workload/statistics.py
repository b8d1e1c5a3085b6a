"""The few numbers by which a graph of modules with times is described."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec import Struct, json


class Statistics(Struct, frozen=True):
    """Quantiles are at equal steps from 0 to 1, and are interpolated.

    `n_levels` : modules on the longest chain of dependencies. `level_quantiles` : of the place of a
    module between the first level (0) and the last (1). `input_quantiles` : number of products that
    a producer consumes. `log_time_quantiles` : of the natural logarithm of a module's mean time
    [s]. `spread_quantiles` : of the standard deviation of that logarithm from event to event.
    `correlation` : of it between modules of the same event. `filter_inputs` : share of all
    producers that a filter consumes directly. `spine_share` : how likely the longest times are on
    the chain that goes through all levels: it makes the critical path. `one`, `unsafe` : shares of
    modules."""

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
    """(n,) values, one from each n-th part of the distribution, in random order."""
    places = (np.arange(n) + random.uniform(size=n)) / n
    values = np.interp(places, np.linspace(0, 1, len(quantiles)), quantiles)
    return random.permutation(values)


PRESETS = json.decode(
    Path(__file__).with_name("presets.json").read_bytes(), type=dict[str, Statistics]
)
