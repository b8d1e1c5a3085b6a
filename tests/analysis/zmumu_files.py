"""Small files of data and three simulations for a Z → μμ, and how they differ: data have no weights
of generated events, one simulation lacks a trigger; all have the same lumis."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import uproot

from forkrun import _core

N_EVENTS = 600
N_FILES = {"data": 3, "dy": 2, "ttbar": 2, "ww": 1}
LACKS = {"data": ("genWeight",), "ww": ("HLT_IsoMu24",)}
_COLUMNS = {
    "run": "uint32",
    "luminosityBlock": "uint32",
    "event": "uint64",
    "HLT_IsoMu20": "bool",
    "HLT_IsoMu24": "bool",
    "genWeight": "float32",
    "Muon_pt": "float32[]",
    "Muon_eta": "float32[]",
    "Muon_phi": "float32[]",
    "Muon_charge": "int32[]",
    "MET_pt": "float32",
}


def write_all(folder: Path) -> None:
    """`NAME_N.root`: each with N_EVENTS events, lumis of run 1 in simulation and data alike."""
    for number, (name, n_files) in enumerate(N_FILES.items()):
        for n in range(n_files):
            _write(folder / f"{name}_{n}.root", name, n, np.random.default_rng(100 * number + n))


def _write(path: Path, name: str, number: int, random: np.random.Generator) -> None:
    columns = [(n, kind) for n, kind in _COLUMNS.items() if n not in LACKS.get(name, ())]
    values = _events(random, number, near_z=name in ("data", "dy"))
    writer = _core.TreeWriter(str(path), "Events", columns, "zstd:1")
    writer.write({n: values[n] for n, _ in columns})
    writer.close()
    if name != "data":
        with uproot.update(path) as file:
            file.mktree("Runs", {"genEventSumw": np.float64})
            file["Runs"].extend({"genEventSumw": [float(values["genWeight"].sum())]})


def _events(random: np.random.Generator, number: int, *, near_z: bool) -> dict[str, Any]:
    """Two muons or more mostly; the first two often back to back with the mass of a Z."""
    n = N_EVENTS
    counts = random.integers(0, 4, n)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    n_muons = int(offsets[-1])
    pt = random.uniform(5, 90, n_muons)
    phi = random.uniform(-3, 3, n_muons)
    if near_z:
        first = offsets[:-1][counts > 1]
        pt[first] = random.normal(45, 3, len(first))
        pt[first + 1] = random.normal(46, 3, len(first))
        phi[first + 1] = phi[first] + np.pi
    eta = random.uniform(-0.3, 0.3, n_muons) if near_z else random.uniform(-2.5, 2.5, n_muons)
    return {
        "run": np.ones(n, np.uint32),
        "luminosityBlock": (1 + np.arange(n) // 50).astype(np.uint32),
        "event": (np.arange(n) + n * number).astype(np.uint64),
        "HLT_IsoMu20": random.random(n) < 0.8,
        "HLT_IsoMu24": random.random(n) < 0.6,
        "genWeight": np.where(random.random(n) < 0.2, -1.5, 1.5).astype(np.float32),
        "Muon_pt": (offsets, pt.astype(np.float32)),
        "Muon_eta": (offsets, eta.astype(np.float32)),
        "Muon_phi": (offsets, phi.astype(np.float32)),
        "Muon_charge": (offsets, random.choice([-1, 1], n_muons).astype(np.int32)),
        "MET_pt": random.exponential(30, n).astype(np.float32),
    }


def read(path: Path) -> ak.Array:
    """What uproot reads, with what is missing."""
    with uproot.open(path) as file:
        tree = file["Events"]
        events = tree.arrays()
    for name, value in (("genWeight", 1.0), ("HLT_IsoMu24", False)):
        if name not in events.fields:
            events[name] = np.full(len(events), value)
    return events
