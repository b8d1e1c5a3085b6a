"""Events selected for an output by children, with its columns of the input."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from forkrun import _core
from forkrun.formats.events import EventSource, OutputToMake, Range
from forkrun.formats.plain import Plain, joined, rows_of

Integers = npt.NDArray[np.int64]
_SPAN = 1 << 13
"""Number of entries read at a time, of which the selected ones are taken."""
Open = Callable[[int], Any]
"""Returns an open file with `read(names, first, last)`, by number."""


class Selected(Struct, frozen=True):
    """Events of a group of fragments, in output order. `file`, `entry`, `row`: (n,) place of each
    in the input, and in the new `columns`."""

    file: Integers
    entry: Integers
    row: Integers
    columns: Mapping[str, Plain]

    def at(self, places: Any) -> Selected:
        """A part of the events."""
        return Selected(self.file[places], self.entry[places], self.row[places], self.columns)


def selected_columns(
    opened: Open, names: Sequence[str], output: OutputToMake, entries: Sequence[Range]
) -> Iterator[tuple[int, Mapping[str, Plain]]]:
    """Number and columns of consecutive selected events in the `entries` of a file. `names`:
    columns of the input."""
    products = [name for name, _ in output.content.products]
    for span in _selected_spans(output, entries):
        yield len(span.row), _columns(opened, names, span, products)


def _selected_spans(output: OutputToMake, entries: Sequence[Range]) -> Iterator[Selected]:
    """Selected events, in spans of close, rising entries of one file."""
    before_group = output.before_group
    for number, (_, fragments) in enumerate(output.fragments):
        before_group(number)
        pieces = [piece for path in fragments for piece in _core.read_fragment(path)]
        if not pieces:
            continue
        selected = _selected(pieces)
        if len(fragments) > 1:
            selected = selected.at(np.lexsort((selected.entry, selected.file)))
        if entries:
            selected = selected.at(_is_within(selected, entries))
        yield from _spans(selected)


def _selected(pieces: Sequence[Any]) -> Selected:
    ranges = np.array([r for entries, _ in pieces for r in entries], np.int64).reshape(-1, 3)
    file, first, last = ranges.T
    n = last - first
    row = np.arange(n.sum())
    entry = row + np.repeat(first - (np.cumsum(n) - n), n)
    columns = {name: joined([new[name] for _, new in pieces]) for name in pieces[0][1]}
    return Selected(np.repeat(file, n), entry, row, columns)


def _is_within(selected: Selected, entries: Sequence[Range]) -> npt.NDArray[np.bool_]:
    within = np.zeros(len(selected.row), dtype=np.bool_)
    for file, first, last in entries:
        in_range = (selected.entry >= first) & (selected.entry < last)
        within |= (selected.file == file) & in_range
    return within


def _spans(selected: Selected) -> Iterator[Selected]:
    """Spans of close, rising entries of one file."""
    span = selected.entry // _SPAN
    is_new = (np.diff(selected.file) != 0) | (np.diff(span) != 0) | (np.diff(selected.entry) < 0)
    borders = [0, *(np.flatnonzero(is_new) + 1).tolist(), len(span)]
    for first, last in pairwise(borders):
        if first < last:
            yield selected.at(slice(first, last))


def _columns(
    opened: Open, names: Sequence[str], span: Selected, products: Sequence[str]
) -> dict[str, Plain]:
    first, last = int(span.entry[0]), int(span.entry[-1]) + 1
    read = opened(int(span.file[0])).read(names, first, last) if names else {}
    kept = {name: rows_of(read[name], span.entry - first) for name in names}
    return kept | {name: rows_of(span.columns[name], span.row) for name in products}


class OpenFiles:
    """Input files, of which the last one stays open. `on_open` receives the number of each."""

    def __init__(self, form: Any, events: EventSource, on_open: Callable[[int], None]) -> None:
        self._format, self._files, self._on_open = form, events.files, on_open
        self._trees = events.trees or [events.tree] * len(self._files)
        self._number, self._opened = -1, None

    def __call__(self, number: int) -> Any:
        if number != self._number:
            self._on_open(number)
            self._opened = self._format.opened(self._files[number], self._trees[number])
            self._number = number
        return self._opened
