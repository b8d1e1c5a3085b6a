"""(d) Random numbers: keyed by event, against NumPy's generator, which has one state for all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import awkward as ak
import numpy as np
from timing import Result, measure, timed

from forkrun import _core
from forkrun.modules.random import BlockRandom

N_EVENTS = 8192  # of a block
N_CALLS = 500
Draw = Callable[[Any, Any], Any]
"""Gets a BlockRandom or a numpy.random.Generator, and the size of what it draws."""

CASES: tuple[tuple[str, Draw], ...] = (
    ("random()", lambda random, size: random.random(size)),
    ("normal(1, 2)", lambda random, size: random.normal(1.0, 2.0, size)),
    ("exponential(2)", lambda random, size: random.exponential(2.0, size)),
    ("integers(0, 100)", lambda random, size: random.integers(0, 100, size)),
    ("poisson(1)", lambda random, size: random.poisson(1.0, size)),
    ("poisson(50)", lambda random, size: random.poisson(50.0, size)),
)


def run(repeats: int) -> Iterator[Result]:
    """One value per event, twenty, and as many as a jagged column has: 0 to 4."""
    counts = np.arange(N_EVENTS) * 7 % 5
    for name, draw in CASES:
        yield _compare(f"{name}, one per event", draw, None, N_EVENTS, repeats)
    name, draw = CASES[1]
    yield _compare(f"{name}, 20 per event", draw, 20, (N_EVENTS, 20), repeats)
    yield _compare(f"{name}, 0 to 4 per event", draw, counts, int(counts.sum()), repeats)


def _compare(name: str, draw: Draw, ours: Any, theirs: Any, repeats: int) -> Result:
    events = np.arange(1, N_EVENTS + 1, dtype=np.uint64)
    block = BlockRandom(_core.BlockRandom(1, "bench", 1, 1, events))
    generator = np.random.default_rng(1)
    n_values = np.size(ak.flatten(draw(block, ours), axis=None))
    if n_values != np.size(draw(generator, theirs)):
        raise SystemExit(f"{name}: another number of values")
    times = measure(
        {
            "forkrun block.random": lambda: timed(lambda: _calls(draw, block, ours)),
            "numpy.random.Generator": lambda: timed(lambda: _calls(draw, generator, theirs)),
        },
        repeats,
    )
    case = f"(d) {name}: {N_CALLS} x {n_values} values"
    return Result(case, "numpy.random.Generator", times)


def _calls(draw: Draw, random: Any, size: Any) -> None:
    for _ in range(N_CALLS):
        draw(random, size)
