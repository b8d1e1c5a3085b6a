"""Entries of a friend that belong to those of a file."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from forkrun.base.lumis import Integers
from forkrun.formats.events import Identity

NONE, SEVERAL = -1, -2
"""Special file numbers: no partner, or several without a rule to choose one."""


class FriendFile(NamedTuple):
    """A file of a friend. `digest`: of its index."""

    path: str
    tree: str
    identity: Identity
    digest: str


class Entries(NamedTuple):
    """Consecutive entries [`first`, `last`) of an input file. `file`: number of the friend's file,
    or `NONE`, or `SEVERAL`; `entry`: partner of the first entry; each further entry has the next
    one, or the same one if it `repeats`."""

    first: int
    last: int
    file: int
    entry: int
    repeats: bool


class Partners(Struct, frozen=True, eq=False):
    """Sequences of consecutive entries. `first` : (n,) the first of each; `file`, `entry`,
    `repeats` : (n,) as in `Entries`; `n_entries`: of the input file."""

    first: Integers
    file: npt.NDArray[np.int32]
    entry: Integers
    repeats: npt.NDArray[np.uint8]
    n_entries: int

    @classmethod
    def in_a_row(cls, entry: int, n_entries: int) -> Partners:
        """Consecutive partners in the friend's first file, starting from this entry."""
        n = min(n_entries, 1)
        return cls(
            np.zeros(n, np.int64), np.zeros(n, np.int32), np.full(n, entry, np.int64),
            np.zeros(n, np.uint8), n_entries,
        )  # fmt: skip

    @property
    def columns(self) -> tuple[Any, Any, Any, Any]:
        """The same, for the core."""
        return self.first, self.file, self.entry, self.repeats

    @property
    def first_partner(self) -> int:
        """Partner of the first entry; 0 without entries."""
        return int(self.entry[0]) if len(self.entry) else 0

    @property
    def last(self) -> Integers:
        """(n,) the entry after each sequence."""
        return np.append(self.first[1:], self.n_entries)[: len(self.first)]

    @property
    def is_reordered(self) -> bool:
        """Whether the order of partners differs from that of the entries."""
        has_some = self.file >= 0
        file, entry = self.file[has_some], self.entry[has_some]
        same = file[1:] == file[:-1]
        return bool(np.any(file[1:] < file[:-1]) or np.any(entry[1:][same] < entry[:-1][same]))

    def of(self, first: int, last: int) -> list[Entries]:
        """Partners of entries [first, last), in order."""
        begin = max(int(np.searchsorted(self.first, first, side="right")) - 1, 0)
        places = slice(begin, int(np.searchsorted(self.first, last)))
        columns = (self.first, self.last, self.file, self.entry, self.repeats)
        return [
            Entries(
                max(begins, first), min(ends, last), file,
                entry + (0 if repeats else max(begins, first) - begins), bool(repeats),
            )
            for begins, ends, file, entry, repeats in zip(
                *(column[places].tolist() for column in columns), strict=True
            )
        ]  # fmt: skip
