"""Trees and RNTuples of the same events, as uproot writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import uproot


def events(n_events: int, first_lumi: int = 1) -> dict[str, Any]:
    """Columns of events, 100 in each lumi."""
    rng = np.random.default_rng(first_lumi)
    counts = rng.integers(0, 5, n_events)
    n = int(counts.sum())
    place = np.arange(n_events)
    muons = {
        "pt": rng.exponential(20, n).astype(np.float32),
        "eta": rng.normal(0, 1.5, n).astype(np.float32),
        "phi": rng.uniform(-3, 3, n).astype(np.float32),
        "mass": np.full(n, 0.106, np.float32),
        "charge": rng.choice(np.array([-1, 1], np.int32), n),
    }
    return {
        "run": np.ones(n_events, np.uint32),
        "luminosityBlock": (first_lumi + place // 100).astype(np.uint32),
        "event": (100 * first_lumi + place).astype(np.uint64),
        "MET_pt": rng.exponential(30, n_events).astype(np.float32),
        "Muon": ak.zip({name: ak.unflatten(each, counts) for name, each in muons.items()}),
    }


def write_pair(folder: Path, name: str, n_events: int, first_lumi: int = 1) -> tuple[Path, Path]:
    """A tree and an RNTuple of the same events, which have their muons in records; in clusters of
    150 events."""
    columns = events(n_events, first_lumi)
    tree, ntuple = folder / f"{name}_tree.root", folder / f"{name}_ntuple.root"
    with uproot.recreate(tree) as file:
        for first in range(0, n_events, 150):
            part = {key: each[first : first + 150] for key, each in columns.items()}
            file["Events"].extend(part) if first else file.mktree("Events", part)
    with uproot.recreate(ntuple) as file:
        for first in range(0, n_events, 150):
            part = {key: each[first : first + 150] for key, each in columns.items()}
            file["Events"].extend(part) if first else file.mkrntuple("Events", part)
    return tree, ntuple
