"""Writes files, for test_faults.py: `writing.py FOLDER NAME…`. Says what became of each."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

from forkrun import _core
from forkrun.errors import ForkrunError

COLUMNS = [("event", "uint64"), ("x", "float32[]")]
N_EVENTS = 100


def write(path: str) -> None:
    """Histograms, then two clusters of a tree added to the same file."""
    axes: list[Any] = [("x", np.linspace(0.0, 1.0, 3), False, [])]
    values = np.array([0.0, 1.0, 2.0, 0.0])
    sums = np.stack([values, values])
    _core.write_histograms(path, [("plots/h", "", axes, "weights", sums, False)])
    writer = _core.TreeWriter(path, "Events", COLUMNS, "zstd:1", append_tree=True)
    for first in (0, N_EVENTS // 2):
        events = np.arange(first, first + N_EVENTS // 2, dtype=np.uint64)
        counts = np.ones(len(events) + 1, dtype=np.int64).cumsum() - 1
        writer.write({"event": events, "x": (counts, events.astype(np.float32))})
    writer.close()


def main() -> None:
    """The first one has nothing to fear: libraries are loaded for it."""
    folder, *names = sys.argv[1:]
    outcomes = {}
    for name in names:
        try:
            write(f"{folder}/{name}")
            outcomes[name] = ""
        except ForkrunError as error:
            outcomes[name] = f"{type(error).__name__}: {error}"
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main()
