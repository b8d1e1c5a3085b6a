"""A small file with collections of objects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from forkrun import _core

N_MUONS = (2, 0, 1, 3, 2, 2)
N_JETS = (1, 2, 0, 2, 3, 1)
JET_INDEX = (0, -1, -1, 1, 0, 5, 2, 0, -1, 0)
N_EVENTS = len(N_MUONS)


def write_objects(path: Path, names: dict[str, str] | None = None) -> Path:
    """Muons of 10, 11, … GeV, jets of 100, 101, …; `names`: of columns, instead of NanoAOD's."""
    columns: dict[str, Any] = {
        "run": np.ones(N_EVENTS, np.uint32),
        "luminosityBlock": np.ones(N_EVENTS, np.uint32),
        "event": np.arange(1, N_EVENTS + 1, dtype=np.uint64),
        "MET_pt": np.arange(N_EVENTS, dtype=np.float32) * 10,
        "MET_phi": np.zeros(N_EVENTS, np.float32),
        "genWeight": np.arange(N_EVENTS, dtype=np.float32) + 1,
        **_collection("Muon", N_MUONS, 10, 0.1057),
        **_collection("Jet", N_JETS, 100, 8.0),
    }
    offsets = columns["Muon_pt"][0]
    columns["Muon_jetIdx"] = (offsets, np.array(JET_INDEX, np.int32))
    columns["Muon_charge"] = (offsets, np.resize(np.array([1, -1], np.int32), len(JET_INDEX)))
    columns = {(names or {}).get(name, name): values for name, values in columns.items()}
    types = [(name, _type(values)) for name, values in columns.items()]
    writer = _core.TreeWriter(str(path), "Events", types, "none")
    writer.write(columns)
    writer.close()
    return path


def _collection(name: str, counts: tuple[int, ...], pt: float, mass: float) -> dict[str, Any]:
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    number = np.arange(offsets[-1], dtype=np.float32)
    values = {
        "pt": pt + number,
        "eta": 0.1 * number,
        "phi": 0.2 * number,
        "mass": 0 * number + mass,
    }
    return {f"{name}_{key}": (offsets, each.astype(np.float32)) for key, each in values.items()}


def _type(values: Any) -> str:
    return f"{values[1].dtype}[]" if isinstance(values, tuple) else str(values.dtype)
