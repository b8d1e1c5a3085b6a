"""Additional branches that make a sample as wide as a real one: trigger bits, more columns of the
collections, more scalars."""

from __future__ import annotations

import zlib
from typing import NamedTuple

import numpy as np

from forkrun.errors import ConfigError
from forkrun.studies.sample.collections import Array, Column, reduced

# Mix of a real file with 1500 branches: of ten, about five trigger bits, four jagged, one scalar.
PATTERN = ("HLT", "Jet", "HLT", "Muon", "HLT", "Electron", "HLT", "scalar", "HLT", "FatJet")


class Branch(NamedTuple):
    """An additional branch: its name and its kind."""

    name: str
    kind: str


def n_counters(columns: dict[str, Column]) -> int:
    """Number of counter branches ("nMuon") that the writer makes for these columns."""
    return len(
        {name.partition("_")[0] for name, value in columns.items() if isinstance(value, tuple)}
    )


def further_branches(n: int) -> list[Branch]:
    """Names n branches: `HLT_Path001`, `Jet_extra001`, `Extra_001`."""
    branches, counts = [], dict.fromkeys(PATTERN, 0)
    for i in range(n):
        kind = PATTERN[i % len(PATTERN)]
        counts[kind] += 1
        form = {"HLT": "HLT_Path{:04d}_v1", "scalar": "Extra_value{:04d}"}
        branches.append(Branch(form.get(kind, kind + "_extra{:04d}").format(counts[kind]), kind))
    return branches


def pad(rng: np.random.Generator, columns: dict[str, Column], n_branches: int) -> dict[str, Column]:
    """Adds columns until the tree has `n_branches`, counters included."""
    n_here = len(columns) + n_counters(columns)
    if n_branches < n_here:
        raise ConfigError(f"--branches {n_branches}: the sample has at least {n_here}")
    more = {
        branch.name: _column(rng, columns, branch)
        for branch in further_branches(n_branches - n_here)
    }
    return {**columns, **more}


def _column(rng: np.random.Generator, columns: dict[str, Column], branch: Branch) -> Column:
    """Values of a branch; its type, and for a trigger its rate, depend on the branch's name
    only."""
    n_events, key = len(columns["event"]), zlib.crc32(branch.name.encode()) / 2**32
    if branch.kind == "HLT":
        return rng.random(n_events, np.float32) < 0.5 * key**4
    if branch.kind == "scalar":
        return reduced(rng.standard_normal(n_events, np.float32))
    offsets, like = columns[f"{branch.kind}_pt"]
    return np.asarray(offsets), _values(rng, len(like), key)


def _values(rng: np.random.Generator, n: int, key: float) -> Array:
    """Values: mostly floats, some small integers and flags."""
    if key < 0.7:
        return reduced(rng.standard_exponential(n, np.float32))
    if key < 0.85:
        return rng.integers(-1, 8, n, dtype=np.int32)
    return rng.random(n, np.float32) < 0.7
