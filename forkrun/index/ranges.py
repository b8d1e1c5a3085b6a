"""Ranges of all input files as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from operator import itemgetter

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import asdict

from forkrun.base.lumis import Integers, Keys, lumi_keys
from forkrun.index.model import FileIndex, RangeColumns, Words

Flags = npt.NDArray[np.bool_]
RangePart = tuple[int, int, int, str]
"""Entries of a range: its number, the first and the end, and the digest of their events."""


class LumiRanges(Struct, frozen=True, eq=False):
    """Each range of an index in input order, a million in some tens of megabytes. `file`, `run`,
    `lumi`, `first`, `last` : (n_ranges,); `digest` : (n_ranges, 4) from the highest 32 bits to the
    lowest."""

    file: Integers
    run: Integers
    lumi: Integers
    first: Integers
    last: Integers
    digest: Words

    @classmethod
    def of(cls, index: Sequence[FileIndex]) -> LumiRanges:
        """Lumi ranges of the input files, in their order, as columns."""
        ranges = [RangeColumns.of(file.ranges) for file in index]
        file = np.repeat(np.arange(len(index)), [len(each) for each in ranges])
        ranges = ranges or [RangeColumns.of(())]
        names = ("run", "lumi", "first", "last", "digest")
        columns = ([getattr(each, name) for each in ranges] for name in names)
        return cls(file, *(np.concatenate(c) if len(c) > 1 else c[0] for c in columns))

    def __len__(self) -> int:
        return len(self.run)

    def where(self, chosen: Flags) -> LumiRanges:
        """The `chosen` ranges : (n_ranges,)."""
        if chosen.all():
            return self
        return LumiRanges(*(values[chosen] for values in asdict(self).values()))

    def without(self, parts: Sequence[RangePart]) -> LumiRanges:
        """Ranges without these entries, given in ascending order."""
        pieces: list[tuple[int, int, int, int]] = []
        for number, cut in groupby(parts, key=itemgetter(0)):
            pieces += self._left(number, list(cut))
        whole = np.ones(len(self), dtype=bool)
        whole[[number for number, *_ in parts]] = False
        (kept,) = np.nonzero(whole)
        left = np.array([piece[:3] for piece in pieces], dtype=np.int64).reshape(-1, 3)
        digests = b"".join(digest.to_bytes(16) for *_, digest in pieces)
        digest = np.frombuffer(digests, dtype=">u4").astype(np.uint32).reshape(-1, 4)
        number = np.concatenate((kept, left[:, 0]))
        first = np.concatenate((self.first[kept], left[:, 1]))
        order = np.lexsort((first, number))
        return LumiRanges(
            self.file[number[order]],
            self.run[number[order]],
            self.lumi[number[order]],
            first[order],
            np.concatenate((self.last[kept], left[:, 2]))[order],
            np.concatenate((self.digest[kept], digest))[order],
        )

    def _left(self, number: int, parts: Sequence[RangePart]) -> Iterator[tuple[int, int, int, int]]:
        """Number, first, last and digest of the remaining pieces of a range; the first piece has
        the digest of all of them."""
        digest = int.from_bytes(self.digest[number].astype(">u4").tobytes())
        digest = (digest - sum(int(part[3], 16) for part in parts)) % (1 << 128)
        at = int(self.first[number])
        for _, first, last, _ in [*parts, (0, int(self.last[number]), 0, "")]:
            if at < first:
                yield number, at, first, digest
                digest = 0
            at = last

    @property
    def n_events(self) -> Integers:
        """(n_ranges,) events per range."""
        return self.last - self.first

    @property
    def lumi_key(self) -> Keys:
        """(n_ranges,) run and lumi in one number."""
        return lumi_keys(self.run, self.lumi)

    def digest_of_all(self) -> int:
        """Digest of the events of all ranges: the sum modulo 2^128."""
        n_together = 256  # a sum over rows of four numbers takes five times as long
        n_whole = len(self) // n_together * n_together
        wide = self.digest[:n_whole].reshape(-1, 4 * n_together).sum(axis=0, dtype=np.uint64)
        rest = self.digest[n_whole:].sum(axis=0, dtype=np.uint64)
        total = 0
        for part in wide.reshape(-1, 4).sum(axis=0) + rest:
            total = (total << 32) + int(part)
        return total % (1 << 128)

    def bytes_by_file(self, n_files: int) -> Iterator[memoryview]:
        """Data of the ranges of each file, without copies."""
        entries = (self.run, self.lumi, self.first, self.last)
        table = np.column_stack((*entries, self.digest.view(np.int64)))
        borders = np.searchsorted(self.file, np.arange(n_files + 1))
        return (table[begin:end].data for begin, end in pairwise(borders.tolist()))
