"""Reader of events in formats written in Python, called by the core."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from forkrun.formats.columns_index import made_up_ids
from forkrun.formats.plain import Plain, joined, one_value

if TYPE_CHECKING:
    from forkrun.formats.events import EventSource, Range, Read

NamesIn = Callable[[str, str], Collection[str]]
"""Returns the names of a file's columns, from its path and the name of its table."""


class Reader:
    """Reads columns and ids of entries in several consecutive ranges."""

    def __init__(self, read: Read, events: EventSource, names_in: NamesIn) -> None:
        self._read_file, self._ids_of_events, self._fills = read, events.ids, events.fills
        self._files = events.files
        self._trees = events.trees or [events.tree] * len(events.files)
        self._names_in = cache(names_in)
        self._types = dict(events.columns)

    def read(self, ranges: Sequence[Range], name: str) -> Plain:
        """A column; files that lack it get its fill value."""
        return joined([self._column(r, name) for r in ranges])

    def _column(self, r: Range, name: str) -> Plain:
        file, first, last = r
        if name in self._fills and name not in self._names_in(self._files[file], self._trees[file]):
            value, _ = self._fills[name]
            return one_value(self._types[name], value, last - first)
        return self._read(r, [name])[name]

    def read_ids(self, ranges: Sequence[Range]) -> tuple[Plain, Plain, Plain]:
        """Run, lumi and number of each event."""
        parts = [self._ids(r) for r in ranges]
        run, lumi, event = (joined(each) for each in zip(*parts, strict=True))
        return run, lumi, event

    def _ids(self, r: Range) -> tuple[Plain, Plain, Plain]:
        run, lumi, event = self._ids_of_events
        if event:
            found = self._read(r, [run, lumi, event])
            return found[run], found[lumi], found[event]
        file, first, last = r
        ones, lumis, numbers = made_up_ids(last - first, file)
        return ones, lumis, numbers + first

    def _read(self, r: Range, names: Sequence[str]) -> Mapping[str, Plain]:
        file, first, last = r
        return self._read_file(self._files[file], self._trees[file], names, first, last)
