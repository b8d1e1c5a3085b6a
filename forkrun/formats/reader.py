"""What the core calls to read events of a format that is written in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from forkrun.formats.columns_index import made_up_ids
from forkrun.formats.plain import Plain, joined

if TYPE_CHECKING:
    from forkrun.formats.events import EventSource, Range, Read


class Reader:
    """Reads columns and ids of entries in several ranges, one after the other."""

    def __init__(self, read: Read, events: EventSource) -> None:
        self._read_file, self._events = read, events

    def read(self, ranges: Sequence[Range], name: str) -> Plain:
        """A column."""
        return joined([self._read(r, [name])[name] for r in ranges])

    def read_ids(self, ranges: Sequence[Range]) -> tuple[Plain, Plain, Plain]:
        """Run, lumi and number of each event."""
        parts = [self._ids(r) for r in ranges]
        run, lumi, event = (joined(each) for each in zip(*parts, strict=True))
        return run, lumi, event

    def _ids(self, r: Range) -> tuple[Plain, Plain, Plain]:
        run, lumi, event = self._events.ids
        if event:
            found = self._read(r, [run, lumi, event])
            return found[run], found[lumi], found[event]
        file, first, last = r
        ones, lumis, numbers = made_up_ids(last - first, file)
        return ones, lumis, numbers + first

    def _read(self, r: Range, names: Sequence[str]) -> Mapping[str, Plain]:
        file, first, last = r
        return self._read_file(self._events.files[file], self._events.tree, names, first, last)
