"""Files of several datasets, whose lumis and events have the same numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from forkrun import _core


def write(path: Path, n_events: int, sums: list[float] | None) -> None:
    """Events of lumis 1 and 2 of run 1, in each file alike; x is 0.5."""
    columns = [
        ("run", "uint32"),
        ("luminosityBlock", "uint32"),
        ("event", "uint64"),
        ("x", "float32"),
    ]
    columns += [("genWeight", "float32")] if sums else []
    writer = _core.TreeWriter(str(path), "Events", columns, "none")
    values = {
        "run": np.ones(n_events, np.uint32),
        "luminosityBlock": (1 + np.arange(n_events) // (n_events // 2 + 1)).astype(np.uint32),
        "event": np.arange(n_events, dtype=np.uint64),
        "x": np.full(n_events, 0.5, np.float32),
        "genWeight": np.full(n_events, 2, np.float32),
    }
    writer.write({name: values[name] for name, _ in columns})
    writer.close()


def with_runs(path: Path, sums: list[float]) -> None:
    """The file with a tree Runs as NanoAOD has it."""
    import uproot

    with uproot.open(path) as file:
        events = file["Events"].arrays(library="np")
    with uproot.recreate(path) as file:
        for name, columns in (("Events", events), ("Runs", {"genEventSumw": np.array(sums)})):
            file.mktree(name, {key: values.dtype for key, values in columns.items()})
            file[name].extend(columns)


def write_all(folder: Path, n_events: Mapping[str, int], sums: Mapping[str, list[float]]) -> None:
    """A file of each name; of simulation those that have `sums` of weights, which `Runs` tells."""
    for name, n in n_events.items():
        write(folder / f"{name}.root", n, sums.get(name))
        if name in sums:
            with_runs(folder / f"{name}.root", sums[name])
