"""The three ways to share events among children. Each takes the selected ranges in input order and
gives the parts of each child, lumi by lumi."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from forkrun.plan.model import EntryRange


class Piece(NamedTuple):
    """Part of the input of one lumi, given to one child."""

    child: int
    run: int
    lumi: int
    range: EntryRange


class Selected(NamedTuple):
    """Entries of one lumi that are to be processed."""

    run: int
    lumi: int
    range: EntryRange

    @property
    def n_events(self) -> int:
        """Entries of the range."""
        return self.range.last - self.range.first


def by_lumi(selected: Sequence[Selected], children: int) -> Iterator[Piece]:
    """Whole lumis: the largest first, each to the child with the fewest events so far; ties go to
    the lumi that comes first and the child with the lowest number."""
    sizes: dict[tuple[int, int], int] = {}
    for s in selected:
        sizes[s.run, s.lumi] = sizes.get((s.run, s.lumi), 0) + s.n_events
    loads = [(0, child) for child in range(children)]
    child_of = {}
    for lumi, size in sorted(sizes.items(), key=lambda item: -item[1]):
        load, child = loads[0]
        child_of[lumi] = child
        heapq.heapreplace(loads, (load + size, child))
    for s in selected:
        yield Piece(child_of[s.run, s.lumi], s.run, s.lumi, s.range)


def by_turns(selected: Sequence[Selected], children: int, per_turn: int) -> Iterator[Piece]:
    """`per_turn` consecutive events of the sequence to child 0, the next to child 1, and so on."""
    child, left = 0, per_turn
    for s in selected:
        first = s.range.first
        while first < s.range.last:
            if not left:
                child, left = (child + 1) % children, per_turn
            last = min(s.range.last, first + left)
            yield Piece(child, s.run, s.lumi, EntryRange(s.range.file, first, last))
            left -= last - first
            first = last
