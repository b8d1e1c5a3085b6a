"""Small input files for tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from forkrun import _core

Lumi = tuple[int, int, int]  # run, lumi, events
COLUMNS = [
    ("run", "uint32"),
    ("luminosityBlock", "uint32"),
    ("event", "uint64"),
    ("Jet_pt", "float32[]"),
]


def write_events(
    path: Path, lumis: Sequence[Lumi], first_event: int = 1, without: Sequence[str] = ()
) -> Path:
    """Events numbered from `first_event`; event n has n % 5 jets of 10, 20, … + n % 7 GeV."""
    columns = [column for column in COLUMNS if column[0] not in without]
    writer = _core.TreeWriter(str(path), "Events", columns, "zstd:1")
    for run, lumi, n_events in lumis:
        events = np.arange(first_event, first_event + n_events, dtype=np.uint64)
        first_event += n_events
        values = {
            "run": np.full(n_events, run, dtype=np.uint32),
            "luminosityBlock": np.full(n_events, lumi, dtype=np.uint32),
            "event": events,
            "Jet_pt": _jets(events),
        }
        writer.write({name: values[name] for name, _ in columns})
    writer.close()
    return path


def _jets(events: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    counts = (events % 5).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    sizes = zip(events, counts, strict=True)
    pts = [10 * (jet + 1) + event % 7 for event, n in sizes for jet in range(n)]
    return offsets, np.array(pts, dtype=np.float32)
