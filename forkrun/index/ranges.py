"""The ranges of all input files as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from forkrun.base.dataclass import dataclass
from forkrun.base.lumis import Integers, Keys, lumi_keys
from forkrun.index.model import FileIndex, RangeColumns

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LumiRanges:
    """Each range of an index in input order, a million in some tens of megabytes. `file`, `run`,
    `lumi`, `first`, `last` : (n_ranges,); `digest` : (n_ranges, 4) from the highest 32 bits to the
    lowest."""

    file: Integers
    run: Integers
    lumi: Integers
    first: Integers
    last: Integers
    digest: npt.NDArray[np.uint32]

    @classmethod
    def of(cls, index: Sequence[FileIndex]) -> LumiRanges:
        """Lumi ranges of the input files, in their order, as columns."""
        ranges = [RangeColumns.of(file.ranges) for file in index]
        run, lumi, first, last = (
            np.concatenate([np.empty(0, np.int64), *(getattr(each, name) for each in ranges)])
            for name in ("run", "lumi", "first", "last")
        )
        digits = bytes.fromhex("".join(each.digests for each in ranges))
        digest = np.frombuffer(digits, dtype=">u4").astype(np.uint32).reshape(-1, 4)
        file = np.repeat(np.arange(len(index)), [len(each) for each in ranges])
        return cls(file, run, lumi, first, last, digest)

    def __len__(self) -> int:
        return len(self.run)

    def where(self, chosen: Flags) -> LumiRanges:
        """The ranges that are `chosen` : (n_ranges,)."""
        return LumiRanges(*(getattr(self, field.name)[chosen] for field in fields(self)))

    @property
    def n_events(self) -> Integers:
        """(n_ranges,) events of each."""
        return self.last - self.first

    @property
    def lumi_key(self) -> Keys:
        """(n_ranges,) run and lumi in one number."""
        return lumi_keys(self.run, self.lumi)

    def digest_of_all(self) -> int:
        """Digest of the events of all ranges: the sum modulo 2^128."""
        total = 0
        for part in self.digest.sum(axis=0, dtype=np.uint64):
            total = (total << 32) + int(part)
        return total % (1 << 128)

    def bytes_by_file(self, n_files: int) -> Iterator[memoryview]:
        """All that is known of the ranges of each file, without copies."""
        entries = (self.run, self.lumi, self.first, self.last)
        table = np.column_stack((*entries, self.digest.view(np.int64)))
        borders = np.searchsorted(self.file, np.arange(n_files + 1)) * table.strides[0]
        everything = memoryview(table.tobytes())
        return (everything[begin:end] for begin, end in pairwise(borders.tolist()))
