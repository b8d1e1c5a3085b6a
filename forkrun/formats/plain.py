"""Plain columns: values, (n, 4) of arrays of fixed size; (offsets, values) of lists and texts;
(offsets, offsets, values) of lists of lists, and so on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from forkrun.formats.column_types import ColumnType

Plain: TypeAlias = Any


def inner_of(column: Plain) -> Plain:
    """Content of the lists of events: values, or (offsets, values) again."""
    return column[1] if len(column) == 2 else column[1:]


def joined(parts: Sequence[Plain]) -> Plain:
    """One column of consecutive parts of the same type; at least one part."""
    lists = [part for part in parts if isinstance(part, tuple)]
    if not lists:
        return np.concatenate([np.asarray(part) for part in parts])
    counts = np.concatenate([np.diff(part[0]) for part in lists])
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    inner = joined([inner_of(part) for part in lists])
    return (offsets, *inner) if isinstance(inner, tuple) else (offsets, inner)


def ids_of(column: Plain) -> npt.NDArray[np.uint64]:
    """(n_events,) uint64 ids, from a column of integers, or of lists with one each."""
    return np.asarray(column[1] if isinstance(column, tuple) else column).astype(np.uint64)


def part_of(column: Plain, first: int, last: int) -> Plain:
    """Values of events [first, last)."""
    if not isinstance(column, tuple):
        return column[first:last]
    offsets = column[0]
    inner = part_of(inner_of(column), int(offsets[first]), int(offsets[last]))
    begun = offsets[first : last + 1] - offsets[first]
    return (begun, *inner) if isinstance(inner, tuple) else (begun, inner)


def rows_of(column: Plain, rows: Any) -> Plain:
    """Values of some events. `rows`: (n,) indices of the events."""
    if not isinstance(column, tuple):
        return column[rows]
    begins = column[0][:-1][rows]
    counts = np.diff(column[0])[rows]
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    inner = rows_of(
        inner_of(column), np.arange(offsets[-1]) + np.repeat(begins - offsets[:-1], counts)
    )
    return (offsets, *inner) if isinstance(inner, tuple) else (offsets, inner)


def empty_column(kind: str) -> Plain:
    """Column of a type without events."""
    of = ColumnType.of(kind)
    offsets = [np.zeros(1, np.int64)] * of.n_levels
    values = np.empty((0, *of.dimensions), of.dtype)
    return (*offsets, values) if offsets else values


def one_value(kind: str, value: float, n_events: int) -> Plain:
    """Column of a type with this value in each event; lists and texts are empty."""
    of = ColumnType.of(kind)
    if not of.n_levels:
        return np.full((n_events, *of.dimensions), value, of.dtype)
    _, *nothing = empty_column(kind)
    return (np.zeros(n_events + 1, np.int64), *nothing)


def n_events_of(column: Plain) -> int:
    """Number of events of a column."""
    return len(column[0]) - 1 if isinstance(column, tuple) else len(column)


Part = Mapping[str, Plain]
_MOST_ROWS, _STEP = 1 << 20, 1 << 10
"""Rows of a group at most, and a divisor of the number of rows: the ends of groups do not depend on
the parts in which rows arrive."""


def row_groups(parts: Iterable[Part], n_group_bytes: int) -> Iterator[Part]:
    """Rows in groups, which end where there are enough bytes or rows."""
    group: list[Part] = []
    n_bytes = 0
    for step in _steps(parts):
        group.append(step)
        n_bytes += sum(_n_bytes(column) for column in step.values())
        if n_bytes >= n_group_bytes or len(group) * _STEP >= _MOST_ROWS:
            yield _joined(group)
            group, n_bytes = [], 0
    if group:
        yield _joined(group)


def _steps(parts: Iterable[Part]) -> Iterator[Part]:
    """Rows in pieces of `_STEP`, the last one possibly shorter."""
    n_before = 0

    def pieces() -> Iterator[tuple[int, Part]]:
        nonlocal n_before
        for part in parts:
            n, first = n_events_of(next(iter(part.values()))), 0
            while first < n:
                step = n_before // _STEP
                last = min(n, first + (step + 1) * _STEP - n_before)
                yield step, {name: part_of(column, first, last) for name, column in part.items()}
                n_before += last - first
                first = last

    for _, of_step in groupby(pieces(), lambda piece: piece[0]):
        yield _joined([piece for _, piece in of_step])


def _joined(parts: Sequence[Part]) -> Part:
    if len(parts) == 1:
        return parts[0]
    return {name: joined([part[name] for part in parts]) for name in parts[0]}


def _n_bytes(column: Plain) -> int:
    return sum(each.nbytes for each in column) if isinstance(column, tuple) else int(column.nbytes)
