"""Rows of consecutive parts in groups of a size that is good to read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from forkrun.formats.plain import Plain, joined, n_events_of, part_of

Part = Mapping[str, Plain]
_MOST_ROWS, _STEP = 1 << 20, 1 << 10
"""Rows of a group, and what they are a multiple of: where groups end does not depend on the parts
in which rows come."""


def row_groups(parts: Iterable[Part], n_group_bytes: int) -> Iterator[Part]:
    """The rows in groups, which end where there are enough bytes or rows."""
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
    """The rows in pieces of `_STEP` each, the last one of fewer."""
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
