"""A skim of all branches with uproot, in one process: the events in which a number per event is
large enough. Runs where uproot has what it needs for http."""

from __future__ import annotations

import sys

import awkward as ak
import numpy as np
import uproot


def main() -> None:
    """From one file, local or not, to another."""
    source, target, column, least = sys.argv[1:]
    tree = None
    with uproot.recreate(target, compression=uproot.ZSTD(5)) as file:
        for events in uproot.iterate({source: "Events"}, step_size=100_000):
            kept = events[events[column] >= np.float32(least)]
            columns = dict(zip(ak.fields(kept), ak.unzip(kept), strict=True))
            tree = tree or file.mktree("Events", {name: v.type for name, v in columns.items()})
            tree.extend(columns)


if __name__ == "__main__":
    main()
