"""Undamaged files: real ones where there are, and small ones of every compression."""

from __future__ import annotations

import os
from pathlib import Path

from forkrun.studies.sample import SampleSettings, write_sample

_COMPRESSIONS = ("none", "zlib:1", "lzma:4", "lz4:4", "zstd:5")


def originals(folder: Path) -> list[Path]:
    """In a fixed order; those that are made are made in `folder`."""
    return [*made(folder), *_real()]


def made(folder: Path) -> list[Path]:
    """One of each compression, with several baskets in each branch."""
    files = []
    for compression in _COMPRESSIONS:
        file = folder / f"made-{compression.replace(':', '-')}.root"
        if not file.exists():
            settings = SampleSettings(n_events=400, n_branches=95, cluster=100,
                                      compression=compression)  # fmt: skip
            write_sample(file, settings)
        files.append(file)
    return files


def with_large_clusters(folder: Path) -> Path:
    """Of two clusters that an output keeps whole, their baskets as they are."""
    file = folder / "large-clusters.root"
    if not file.exists():
        settings = SampleSettings(n_events=3200, n_branches=95, cluster=1600,
                                  compression="lz4:4")  # fmt: skip
        write_sample(file, settings)
    return file


def ntuples() -> list[Path]:
    """RNTuples that ROOT wrote: every page has a checksum, so that no damage gives other values.
    None where there are no real files."""
    return sorted(_data().glob("rntuple/cmssw*.root"))


def _real() -> list[Path]:
    return sorted(_data().glob("nano*.root"))


def _data() -> Path:
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    return Path(os.environ.get("FORKRUN_TEST_DATA", beside))
