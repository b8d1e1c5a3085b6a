"""The first events of a job, read to find the reads of modules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from forkrun.config.source import SourceConfig
from forkrun.errors import InputError
from forkrun.formats import format_named
from forkrun.formats.column_types import ColumnType
from forkrun.formats.plain import Plain, ids_of, joined, one_value, rows_of
from forkrun.plan.model import EntryRange, Units
from forkrun.schedule.input_branches import InputBranches
from forkrun.schedule.problems import missing_branches

_MOST_OPEN = 64
"""Number of files open at a time."""
_MOST_FILES = 256
"""Number of files searched for the first events; each is opened for each column."""


class FirstEvents(Struct, frozen=True, dict=True):
    """Up to `n_most` events of one IOV, or of one lumi. `lumis`: (run, lumi, first, last) as in a
    block."""

    source: SourceConfig
    branches: InputBranches
    ranges: Sequence[EntryRange]
    lumis: Sequence[tuple[int, int, int, int]]
    is_all: bool
    """True if the job has no further events."""

    def __len__(self) -> int:
        return sum(r.last - r.first for r in self.ranges)

    def part(self, first: int, last: int) -> FirstEvents:
        """Events [first, last) of these, from the same open files."""
        last = min(last, len(self))
        lumis = [
            (run, lumi, max(begin, first) - first, min(end, last) - first)
            for run, lumi, begin, end in self.lumis
            if max(begin, first) < min(end, last)
        ]
        ranges, n = [], 0
        for each in self.ranges:
            begin, end = max(first - n, 0), min(last - n, each.last - each.first)
            if begin < end:
                ranges.append(EntryRange(each.file, each.first + begin, each.first + end))
            n += each.last - each.first
        is_all = self.is_all and last == len(self)
        part = FirstEvents(self.source, self.branches, ranges, lumis, is_all)
        part.__dict__["_trees"] = self._trees
        return part

    @property
    def lumis_of_unit(self) -> tuple[npt.NDArray[np.int64], ...] | None:
        """Runs, lumis and end event of each, as in a unit to do; None for a single lumi."""
        spans = np.array(self.lumis, np.int64).reshape(-1, 4)
        return None if len(spans) < 2 else (spans[:, 0], spans[:, 1], spans[:, 3])

    @property
    def place(self) -> str:
        """Run, lumi and event numbers, in the form of the core's messages."""
        if not self.lumis:
            return "no event"
        (run, lumi, *_), (last_run, last_lumi, *_) = self.lumis[0], self.lumis[-1]
        first, last = int(self.events[0]), int(self.events[-1])
        if len(self) == 1:
            return f"{run}:{lumi}, event {first}"
        if (run, lumi) == (last_run, last_lumi):
            return f"{run}:{lumi}, events {first}…{last}"
        return f"{run}:{lumi}:{first} to {last_run}:{last_lumi}:{last}"

    @property
    def entry(self) -> str:
        """Entry and file of the first event."""
        if not self.ranges:
            return ""
        first = self.ranges[0]
        return f"entry {first.first} of {self.branches.files[first.file].path}"

    @property
    def types(self) -> dict[str, str]:
        """Types of the input columns, by name."""
        return dict(self.branches.columns)

    def read(self, name: str) -> Plain:
        """Returns an input column. Call it where files may be opened; some stay open."""
        return joined([self._part(name, r) for r in self.ranges or [EntryRange(0, 0, 0)]])

    def _part(self, name: str, r: EntryRange) -> Plain:
        if name in self.branches.friends:
            return self._of_friend(name, r)
        fill, file = self.branches.fills.get(name), self.branches.files[r.file]
        if any(branch.name == name for branch in file.all_branches):
            return self._stored(name, r)
        if fill is None:
            raise InputError(missing_branches(file, [name], self.branches.readable))
        value, counter = fill
        kind, n = ColumnType.of(self.branches.readable[name].type), r.last - r.first
        if not kind.n_levels or kind.is_text or kind.n_levels > 1:
            return one_value(self.branches.readable[name].type, value, n)
        has_counter = any(branch.name == counter for branch in file.branches)
        counts = self._stored(counter, r) if has_counter else np.zeros(n, np.int64)
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return offsets, np.full((offsets[-1], *kind.dimensions), value, kind.dtype)

    def _stored(self, name: str, r: EntryRange) -> Plain:
        file = self.branches.files[r.file]
        tree = file.tree or self.source.tree
        return self._read(file.format, file.path, tree, name, r.first, r.last)

    def _of_friend(self, name: str, r: EntryRange) -> Plain:
        """Reads in friend order, so that entries of a basket are read together."""
        number, branch = self.branches.friends[name]
        part = self.branches.files[r.file].friends[number]
        kind = self.branches.files[r.file].format
        value = self.branches.fills_of_friends.get(name, 0)
        found, row = [one_value(branch.type, value, 1)], 1
        rows = np.zeros(r.last - r.first, np.int64)  # row in `found`, by event
        for each in sorted(part.partners.of(r.first, r.last), key=attrgetter("file", "entry")):
            if each.file < 0:
                continue
            n = each.last - each.first
            file, n_read = part.files[each.file], 1 if each.repeats else n
            end = each.entry + n_read
            found.append(self._read(kind, file.path, file.tree, branch.name, each.entry, end))
            places = slice(each.first - r.first, each.last - r.first)
            rows[places] = row if each.repeats else np.arange(row, row + n)
            row += n_read
        return rows_of(joined(found), rows)

    def _read(self, kind: str, path: str, tree: str, name: str, first: int, last: int) -> Plain:
        opened = self._trees.pop((path, tree), None) or format_named(kind).opened(path, tree)
        self._trees[path, tree] = opened
        if len(self._trees) > _MOST_OPEN:
            del self._trees[next(iter(self._trees))]
        return opened.read([name], first, last)[name]

    @cached_property
    def _trees(self) -> dict[tuple[str, str], Any]:
        """Open trees, most recently read last."""
        return {}

    @cached_property
    def events(self) -> npt.NDArray[np.uint64]:
        """(n_events,) event numbers."""
        if self.source.event_branch:
            return ids_of(self.read(self.source.event_branch))
        parts = [np.arange(r.first, r.last, dtype=np.uint64) for r in self.ranges]
        return np.concatenate([np.empty(0, np.uint64), *parts])


def first_events(
    source: SourceConfig,
    branches: InputBranches,
    units: Units,
    numbers: Sequence[int],
    n_most: int,
    one_lumi: bool,
) -> FirstEvents:
    """Returns the first events. `numbers`: units of the plan to search, all of one IOV."""
    ranges: list[EntryRange] = []
    lumis: list[tuple[int, int, int, int]] = []
    n, files = 0, set[int]()
    for number in numbers:
        unit = units[number]
        if n == n_most or len(files) > _MOST_FILES:
            break
        if one_lumi and lumis and lumis[-1][:2] != (unit.run, unit.lumi):
            break
        if any(branches.files[r.file].unreadable for r in unit.ranges):
            continue
        taken = list(_cut(unit.ranges, n_most - n, files))
        n_taken = sum(r.last - r.first for r in taken)
        ranges += taken
        begin = lumis.pop()[2] if lumis and lumis[-1][:2] == (unit.run, unit.lumi) else n
        n += n_taken
        lumis.append((unit.run, unit.lumi, begin, n))
    is_all = n < n_most and len(files) <= _MOST_FILES
    return FirstEvents(source, branches, list(_in_a_row(ranges)), lumis, is_all)


def _cut(ranges: Sequence[EntryRange], n_most: int, files: set[int]) -> Iterator[EntryRange]:
    """Takes up to `n_most` events, in `files` and a limited number of others, which are added."""
    for each in ranges:
        files.add(each.file)
        if len(files) > _MOST_FILES:
            return
        n = min(each.last - each.first, n_most)
        if n:
            yield EntryRange(each.file, each.first, each.first + n)
        n_most -= n


def _in_a_row(ranges: Sequence[EntryRange]) -> Iterator[EntryRange]:
    """The same entries in fewer ranges: units may have one event."""
    last: EntryRange | None = None
    for each in ranges:
        if last is not None and (last.file, last.last) == (each.file, each.first):
            last = EntryRange(last.file, last.first, each.last)
            continue
        if last is not None:
            yield last
        last = each
    if last is not None:
        yield last
