"""The analysis as a plain loop of uproot, in one process. Prints the time of the event loop [s] and
writes the histograms."""

from __future__ import annotations

import pickle
import sys
import time
from pathlib import Path

import uproot
from dimuons import COLUMNS, fill, make_histograms


def main() -> None:
    """Runs it over one file."""
    file, out = sys.argv[1:]
    start_s = time.perf_counter()
    histograms = make_histograms()
    for columns in uproot.iterate({file: "Events"}, COLUMNS, step_size=100_000):
        fill(histograms, columns)
    print(time.perf_counter() - start_s)
    Path(out).write_bytes(pickle.dumps(histograms))


if __name__ == "__main__":
    main()
