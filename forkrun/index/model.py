"""Index of one input file, and the ranges of all files as columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import asdict

from forkrun.base.lumis import Integers, Keys, lumi_keys
from forkrun.formats.described import OTHER
from forkrun.formats.events import Identity
from forkrun.index.partners import FriendFile, Partners

Words = npt.NDArray[np.uint32]


class LumiRange(NamedTuple):
    """Entries [first, last) of a file, all in one lumi; `digest`: of their event ids."""

    run: int
    lumi: int
    first: int
    last: int
    digest: str


class RangeColumns(Sequence[LumiRange]):
    """Lumi ranges of a file as columns, for speed: a million in some milliseconds. `run`, `lumi`,
    `first`, `last` : (n,); `digest` : (n, 4) from the highest 32 bits to the lowest."""

    def __init__(
        self, run: Integers, lumi: Integers, first: Integers, last: Integers, digest: Words
    ) -> None:
        self.run, self.lumi, self.first, self.last = run, lumi, first, last
        self.digest = digest

    @classmethod
    def of(cls, ranges: Sequence[LumiRange]) -> RangeColumns:
        """Converts ranges to columns."""
        if isinstance(ranges, cls):
            return ranges
        numbers = np.array([r[:-1] for r in ranges], np.int64).reshape(-1, len(_NUMBERS))
        digits = bytes.fromhex("".join(r.digest for r in ranges))
        words = np.frombuffer(digits, ">u4").astype(np.uint32).reshape(-1, 4)
        run, lumi, first, last = numbers.T
        return cls(run, lumi, first, last, words)

    @classmethod
    def from_bytes(cls, data: Mapping[str, bytes]) -> RangeColumns:
        """Ranges in the result of a format's `index`: each starts where the previous one ends."""
        run, lumi = (np.frombuffer(data[name], np.uint32).astype(np.int64) for name in _LUMI)
        last = np.frombuffer(data["last"], np.int64)
        first = np.concatenate(([0], last))[:-1]
        return cls(run, lumi, first, last, np.frombuffer(data["digest"], np.uint32).reshape(-1, 4))

    def __len__(self) -> int:
        return len(self.run)

    @overload
    def __getitem__(self, place: int) -> LumiRange: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[LumiRange]: ...
    def __getitem__(self, place: int | slice) -> LumiRange | Sequence[LumiRange]:
        return tuple(self)[place]

    def __iter__(self) -> Iterator[LumiRange]:
        numbers = (getattr(self, name).tolist() for name in _NUMBERS)
        digits = self.digest.astype(">u4").tobytes().hex()
        starts = range(0, len(digits), _DIGITS)
        return map(LumiRange, *numbers, (digits[start : start + _DIGITS] for start in starts))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


_LUMI = ("run", "lumi")
_NUMBERS = (*_LUMI, "first", "last")
_DIGITS = 32
"""Number of digits in the digest of a range."""


class Branch(NamedTuple):
    """`type`: a column type such as "float32[]", or "other:TYPE" for a branch that can only be
    passed through; `counter`: its counting branch or ""; `top`: of a column within another branch,
    the branch of the tree, else ""."""

    name: str
    type: str
    counter: str
    top: str = ""

    @property
    def readable(self) -> bool:
        """Whether the branch can be read as a column."""
        return not self.type.startswith(OTHER)


class OtherObjects(NamedTuple):
    """Trees and objects of a file other than its tree of events. `forms`: digest of names, classes,
    structures of trees and axes of histograms; `contents`: also of objects that cannot be merged;
    `problems`: lines on objects that cannot be carried to an output; `may_refer`: objects may refer
    to others by numbers of the file, so that ROOT needs their classes; `trees`: paths of other
    trees, in the order of the file's keys; `has_references`: objects in trees may refer, too."""

    forms: str = ""
    contents: str = ""
    problems: Sequence[str] = ()
    may_refer: bool = False
    trees: Sequence[str] = ()
    has_references: bool = False


class FriendPart(NamedTuple):
    """Partners of a file's entries in a friend. `files`: with some of them; `ids`: names of its
    branches of event ids, to be compared, or ""; `columns`: its branches, by the names of their
    columns; `own`: index of a tree that accompanies the events to outputs, with column names, which
    have the `prefix`, and its path `in_outputs`; `fills`: values for events without a partner, by
    pattern of columns; `is_filled`: some event of the input has none; `by_keys`: partners are found
    by keys."""

    files: Sequence[FriendFile]
    partners: Partners
    ids: Sequence[str]
    columns: Mapping[str, Branch]
    own: FileIndex | None = None
    prefix: str = ""
    in_outputs: str = ""
    fills: Mapping[str, bool | float] = {}
    is_filled: bool = False
    by_keys: bool = False


class FileIndex(Struct, frozen=True):
    """`clusters`: first entry of each cluster of the tree, then n_entries; `ranges`: in entry
    order, the longest sequences of entries of one lumi."""

    path: str
    uuid: str
    n_entries: int
    clusters: tuple[int, ...]
    ranges: Sequence[LumiRange]
    branches: tuple[Branch, ...]
    n_bytes: int = 0
    modified_ns: int = 0
    """Modification time of a local file, since 1970; 0 for a remote one."""
    friends: tuple[FriendPart, ...] = ()
    """One for each of source.friends."""
    events: tuple[int, int] = (0, 0)
    """Least and largest event number."""
    rises: bool = True
    """Whether event numbers rise in each lumi, so that none is repeated."""
    absent: str = ""
    """Reason why the tree is missing, and with it events and branches; "" if it exists."""
    forms: tuple[tuple[str, int], ...] = ()
    """Digest of the branches within split branches, by name, if known without ROOT."""
    short_branches: tuple[str, ...] = ()
    """Names of branches with fewer entries than the tree."""
    stored_friends: tuple[str, ...] = ()
    """Tree and file of the friends named in the file itself."""
    other_objects: OtherObjects = OtherObjects()
    format: str = "ttree"
    """Name of the file's format."""
    dataset: int = 0
    """Number of the file's dataset, in a job with datasets."""
    members: tuple[Branch, ...] = ()
    """Columns of members of objects, within branches that are not columns; also members that are
    not columns."""
    unreadable: str = ""
    """Reason why the file is unreadable and left out; other fields are from an earlier index."""
    tree: str = ""
    """Its tree of events, if not all files have the one of source.tree."""

    @property
    def all_branches(self) -> tuple[Branch, ...]:
        """Branches of the file, and columns within them."""
        return self.branches + self.members

    @property
    def name(self) -> str:
        """Unique name in the input: the path, and the tree if there are several."""
        return f"{self.path}: {self.tree}" if self.tree else self.path

    @property
    def identity(self) -> Identity:
        """Identity of a file, to check that it is unchanged since it was indexed."""
        return self.uuid, self.n_bytes, self.modified_ns

    @classmethod
    def from_json(cls, path: str, data: dict[str, Any]) -> FileIndex:
        """Makes the index of a file from the result of a format's `index`."""
        return cls(
            path=path,
            uuid=data["uuid"],
            n_entries=data["n_entries"],
            clusters=tuple(data["clusters"]),
            ranges=RangeColumns.from_bytes(data["ranges"]),
            branches=_branches(data["branches"]),
            n_bytes=data["n_bytes"],
            modified_ns=data["modified_ns"],
            events=tuple(data["events"]),
            rises=data["rises"],
            absent=data["absent"],
            forms=tuple((name, form) for name, form in data["forms"]),
            short_branches=tuple(data["short_branches"]),
            stored_friends=tuple(data["stored_friends"]),
            other_objects=OtherObjects(*data["other_objects"]),
            format=data.get("format", "ttree"),
            members=tuple(Branch(name, kind, "", top) for name, kind, top in data["members"]),
        )


_last: list[Any] = [[], ()]
"""Branches of the previous file, as data and as objects: most files have the same."""


def _branches(data: list[list[str]]) -> tuple[Branch, ...]:
    if data != _last[0]:
        _last[:] = data, tuple(Branch(*branch) for branch in data)
    found: tuple[Branch, ...] = _last[1]
    return found


NO_FILE = FileIndex("", "", 0, (0,), (), ())
"""Placeholder for a file that this job does not open."""


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
