"""Synthetic input, an index without files: for planning a job in advance."""

from __future__ import annotations

from itertools import pairwise

from msgspec import Struct

from forkrun.base.user_text import short
from forkrun.errors import ConfigError
from forkrun.index import FileIndex, LumiRange

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
