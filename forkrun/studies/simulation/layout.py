"""Begins of files, lumis and clusters, with the entries of all files counted in a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from forkrun.base.lumis import Integers, Keys
from forkrun.index import FileIndex, LumiRanges


class Layout(Struct, frozen=True, eq=False):
    """Entries of all files in input order, counted from 0. `file` : (n_files + 1,) first entry of
    each file, then their number; `lumi_range`, `cluster` : first entry of each range of one lumi
    and of each cluster, rising; `lumi_key` : (n_ranges,) run and lumi of a range in one number."""

    file: Integers
    lumi_range: Integers
    lumi_key: Keys
    cluster: Integers

    @property
    def n_entries(self) -> int:
        """Number of entries of all files."""
        return int(self.file[-1])


def layout_of(index: Sequence[FileIndex]) -> Layout:
    """Layout of the input files, in their order."""
    file = np.zeros(len(index) + 1, dtype=np.int64)
    np.cumsum([f.n_entries for f in index], out=file[1:])
    ranges = LumiRanges.of(index)
    clusters = np.fromiter((c for f in index for c in _clusters(f)), np.int64)
    n_clusters = [sum(1 for _ in _clusters(f)) for f in index]
    return Layout(
        file=file,
        lumi_range=ranges.first + file[ranges.file],
        lumi_key=ranges.lumi_key,
        cluster=clusters + np.repeat(file[:-1], n_clusters),
    )


def _clusters(file: FileIndex) -> Iterator[int]:
    """First entries of the file's clusters; a file without a list of them is one cluster."""
    return (c for c in (file.clusters or (0,)) if c < file.n_entries)
