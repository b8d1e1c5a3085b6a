"""Begins of files, lumis and clusters, with the entries of all files counted in a row; and
synthetic input for planning a job in advance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct

from forkrun.base.lumis import Integers, Keys
from forkrun.base.user_text import short
from forkrun.errors import ConfigError
from forkrun.index import FileIndex, LumiRange, LumiRanges
from forkrun.plan import Plan


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


def global_ranges(plan: Plan, layout: Layout) -> tuple[Integers, Integers]:
    """(n_ranges,) first and last entry of each range, in entries of all files in a row."""
    shift = layout.file[plan.units.file]
    return plan.units.first + shift, plan.units.last + shift


_NO_DIGEST = "0" * 32
MOST_LUMIS = 10_000_000
"""Most lumis, all in memory, as in the index of real files."""


class SyntheticInput(Struct, frozen=True):
    """`files` files of `lumis` lumis each, with `events` events in a lumi, and clusters of
    `cluster` events. Each lumi is in one file only."""

    files: int
    lumis: int
    events: int
    cluster: int = 5_000

    @classmethod
    def parse(cls, text: str, cluster: int = 5_000) -> SyntheticInput:
        """Parses FILESxLUMISxEVENTS. Raises ConfigError."""
        parts = text.lower().replace("×", "x").split("x")
        if len(parts) != 3 or not all(map(_is_count, parts)):
            raise ConfigError(
                f"--synthetic {short(text)}: write FILESxLUMISxEVENTS (lumis per file, events per"
                " lumi), for example 100x10x500"
            )
        if cluster < 1:
            raise ConfigError(f"--cluster {cluster}: at least 1 is needed")
        files, lumis, events = map(int, parts)
        if files * lumis > MOST_LUMIS or lumis * events * files >= 1 << 62:
            what = f"at most {MOST_LUMIS:,} lumis and 2^62 events in all"
            raise ConfigError(f"--synthetic {text}: {what}")
        if lumis * events // cluster > MOST_LUMIS:
            what = f"at most {MOST_LUMIS:,} clusters in a file; take larger ones"
            raise ConfigError(f"--cluster {cluster}: {what}")
        return cls(files, lumis, events, cluster)


def _is_count(text: str) -> bool:
    digits = text.strip()
    return digits.isdecimal() and len(digits) <= 18 and int(digits) > 0


def synthetic_index(shape: SyntheticInput) -> list[FileIndex]:
    """Index of the synthetic files; lumis of run 1 are numbered through all files."""
    n_entries = shape.lumis * shape.events
    clusters = (*range(0, n_entries, shape.cluster), n_entries)
    borders = range(0, n_entries + 1, shape.events)
    pairs = list(pairwise(borders))
    return [
        FileIndex(
            path=f"synthetic-{file}.root",
            uuid=str(file),
            n_entries=n_entries,
            clusters=clusters,
            ranges=tuple(
                LumiRange(1, lumi, first, last, _NO_DIGEST)
                for lumi, (first, last) in enumerate(pairs, file * shape.lumis + 1)
            ),
            branches=(),
        )
        for file in range(shape.files)
    ]
