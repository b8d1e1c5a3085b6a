"""The events that children have selected for an output, with the columns it keeps of the input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from forkrun import _core
from forkrun.formats.plain import Plain, joined, part_of

if TYPE_CHECKING:
    from forkrun.formats.events import EventSource, OutputToMake, Range, Read

Run = tuple["Range", Mapping[str, Plain]]
"""Entries that follow each other, with their new columns."""


def selected_columns(
    read: Read, output: OutputToMake, entries: Sequence[Range], events: EventSource
) -> Iterator[tuple[int, Mapping[str, Plain]]]:
    """Number of events and columns of consecutive selected events, of the `entries` of a file."""
    for number, (_, fragments) in enumerate(output.fragments):
        output.before_group(number)
        runs = [run for path in fragments for run in _runs(path)]
        if len(fragments) > 1:
            runs.sort(key=lambda run: run[0])
        wanted = [part for run in runs for part in _within(*run, entries)]
        if wanted:
            yield _columns(read, output, wanted, events)


def _runs(path: str) -> Iterator[Run]:
    for ranges, columns in _core.read_fragment(path):
        first = 0
        for file, begin, end in ranges:
            n = end - begin
            yield (
                (file, begin, end),
                {name: part_of(column, first, first + n) for name, column in columns.items()},
            )
            first += n


def _within(run: Range, columns: Mapping[str, Plain], entries: Sequence[Range]) -> Iterator[Run]:
    file, first, last = run
    for its_file, begin, end in entries or [run]:
        begun, ended = max(first, begin), min(last, end)
        if its_file == file and begun < ended:
            cut = {name: part_of(c, begun - first, ended - first) for name, c in columns.items()}
            yield (file, begun, ended), cut


def _columns(
    read: Read, output: OutputToMake, runs: Sequence[Run], events: EventSource
) -> tuple[int, Mapping[str, Plain]]:
    kept = [
        read(events.files[file], events.tree, output.branches, first, last)
        for (file, first, last), _ in runs
    ]
    columns = {name: joined([part[name] for part in kept]) for name in output.branches}
    for name, _ in output.products:
        columns[name] = joined([new[name] for _, new in runs])
    return sum(last - first for (_, first, last), _ in runs), columns
