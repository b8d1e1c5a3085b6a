"""Undamaged files: real ones where there are, and small ones of every compression."""

from __future__ import annotations

import os
from pathlib import Path

from forkrun import _core
from forkrun.studies.sample.collider.write import write_collider_sample
from forkrun.studies.sample.settings import SampleSettings
from forkrun.studies.sample.write import write_sample
from tests.support.lcio_files import write_events

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


KINDS = ("trees", "rntuples", "objects", "lcio")
_TREES = {
    "p8_ee_WW_ecm240_edm4hep.root": "events", "delphes.root": "Delphes",
    "uproot-issue327.root": "DstTree", "ntpl001_staff": "Staff",
    "test_": "ntuple", "uproot_written": "nested",
}  # fmt: skip
"""Names of trees that are not Events, by how the files' names begin."""


def tree_of(file: Path) -> str:
    """Name of the tree that is tried."""
    name = file.name.removeprefix("rntuple-")
    return next((tree for begin, tree in _TREES.items() if name.startswith(begin)), "Events")


def files_of(kind: str, folder: Path) -> list[Path]:
    """Those of a kind; those that are made are made in `folder`."""
    of_kind = {"trees": originals, "rntuples": ntuples, "objects": objects, "lcio": lcio}
    return of_kind[kind](folder)


def lcio(folder: Path) -> list[Path]:
    """Small files of LCIO, with and without compression and random access, and real ones."""
    sample, plain = folder / "collider.slcio", folder / "plain.slcio"
    if not sample.exists():
        write_collider_sample(sample, SampleSettings(n_events=4))
        write_events(plain, {1: range(3), 2: range(3, 5)}, is_compressed=False)
    return [sample, plain, *sorted((_data() / "lcio").glob("*.slcio"))]


def ntuples(folder: Path) -> list[Path]:
    """RNTuples whose pages have checksums, so that no damage gives other values, also without
    compression. None where there are no real files."""
    names = ("cmssw_like_6.40.root", "ntpl001_staff*.root", "test_[fimn]*.root")
    files = []
    for file in sorted(each for name in names for each in _data().glob(f"rntuple/{name}")):
        for compression in ("", "none"):
            made = folder / f"rntuple-{file.stem}{compression and '-none'}.root"
            if not made.exists() and compression:
                _core.merge_trees([str(file)], str(made), compression=compression)
            elif not made.exists():
                made.write_bytes(file.read_bytes())
            files.append(made)
    return files


def objects(folder: Path) -> list[Path]:
    """Trees of objects."""
    names = ("p8_ee_WW_ecm240_edm4hep.root", "uproot-issue327.root", "delphes.root")
    return [file for name in names if (file := _data() / "objects" / name).exists()]


def _real() -> list[Path]:
    return sorted(_data().glob("nano*.root"))


def _data() -> Path:
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    return Path(os.environ.get("FORKRUN_TEST_DATA", beside))
