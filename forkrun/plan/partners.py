"""Events that have no entry in a friend which is joined by keys, or several: left out of the plan,
filled, or an error that names them, before anything runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice, pairwise
from typing import NamedTuple

import numpy as np

from forkrun._core import EventDigest
from forkrun.base.lumis import Integers, Keys, distinct
from forkrun.base.quantities import plural
from forkrun.errors import InputError
from forkrun.index.model import LumiRanges, RangePart
from forkrun.index.partners import NONE, SEVERAL, Partners
from forkrun.index.read import found_by_workers
from forkrun.plan.model import Units

_SHOWN = 3
"""Events that an error names."""


class Joined(NamedTuple):
    """A friend that is joined by keys. `key`: names it in the configuration; `tree`: of the friend;
    `by`: the keys in the input; `missing`: what becomes of events without a partner, "error",
    "drop" or "fill"; `partners`, `tables`: of each file of the input, its path and tree of events;
    `event_branch`: of these; `is_by_file`: those of a file are in one file of the friend."""

    key: str
    tree: str
    by: Sequence[str]
    missing: str
    partners: Sequence[Partners]
    tables: Sequence[tuple[str, str]]
    event_branch: str
    is_by_file: bool


class _Pieces(NamedTuple):
    """Consecutive entries that are alike. `place` : (n,) the range that they are in; `file`,
    `first`, `last` : (n,)."""

    place: Integers
    file: Integers
    first: Integers
    last: Integers

    @property
    def n_events(self) -> int:
        return int((self.last - self.first).sum())


def drop_without_partner(friends: Sequence[Joined], ranges: LumiRanges) -> tuple[LumiRanges, int]:
    """Ranges without the events that have no entry in a friend that leaves them out
    (missing = "drop"), and how many these are. Raises InputError."""
    n_before = int(ranges.n_events.sum())
    for friend in friends:
        if friend.missing == "drop":
            ranges = ranges.without(list(_parts(friend, ranges)))
    return ranges, n_before - int(ranges.n_events.sum())


def check_partners(friends: Sequence[Joined], units: Units) -> Iterator[str]:
    """Says of which events the columns of friends are filled. Raises InputError with planned events
    that have no entry in a friend, or several, where that is an error."""
    for friend in friends:
        named = f'the friend "{friend.tree}" by {", ".join(friend.by)}'
        several = _alike(friend, units, SEVERAL)
        if several.n_events:
            raise InputError(
                f"{friend.key}: {_events(several, 'has', 'have')} several entries in {named}:"
                f" {_shown(friend, several)}; write"
                ' duplicates = "first" to take the first of them'
                + ("" if friend.is_by_file else _BY_FILE)
            )
        none = _alike(friend, units, NONE)
        if not none.n_events:
            continue
        if friend.missing != "fill":
            raise InputError(
                f"{friend.key}: {_events(none, 'has', 'have')} no entry in {named}:"
                f" {_shown(friend, none)}; write"
                ' missing = "drop" to leave such events out, or missing = { fill ='
                ' { "*" = -1 } } to give its columns a value there'
            )
        n = int(units.n_events.sum())
        yield (
            f"{none.n_events:,} of {plural(n, 'event')} without an entry in {named}; its columns"
            " have the values of missing.fill there"
        )


_BY_FILE = (
    ", or file_by_file = true if each file of the friend belongs to the input's file of the same"
    " number"
)


def _events(pieces: _Pieces, one: str, many: str) -> str:
    n = pieces.n_events
    return f"{n:,} event{'s' if n > 1 else ''} {many if n > 1 else one}"


def _alike(friend: Joined, ranges: LumiRanges | Units, kind: int) -> _Pieces:
    """Entries of these ranges whose partners are of this kind."""
    found = [_Pieces(*np.zeros((4, 0), np.int64))]
    for file in distinct(ranges.file).tolist():
        partners = friend.partners[file]
        (chosen,) = np.nonzero(partners.file == kind)
        if not len(chosen):
            continue
        begins, ends = partners.first[chosen], partners.last[chosen]
        (places,) = np.nonzero(ranges.file == file)
        first, last = ranges.first[places], ranges.last[places]
        after = np.searchsorted(ends, first, side="right")  # the first that ends after it
        counts = np.maximum(np.searchsorted(begins, last) - after, 0)
        of_range = np.repeat(np.arange(len(places)), counts)
        which = np.arange(len(of_range)) + np.repeat(after - np.cumsum(counts) + counts, counts)
        found.append(
            _Pieces(
                places[of_range],
                np.full(len(of_range), file),
                np.maximum(begins[which], first[of_range]),
                np.minimum(ends[which], last[of_range]),
            )
        )
    return _Pieces(*(np.concatenate(column) for column in zip(*found, strict=True)))


def _parts(friend: Joined, ranges: LumiRanges) -> Iterator[RangePart]:
    """The parts of ranges that have no partner, in order, with the digests of their events."""
    pieces = _alike(friend, ranges, NONE)
    order = np.lexsort((pieces.first, pieces.place))
    pieces = _Pieces(*(column[order] for column in pieces))
    for file in distinct(pieces.file).tolist():
        own = _Pieces(*(column[pieces.file == file] for column in pieces))
        events = _numbers(friend, file, own)
        ends = np.concatenate(([0], np.cumsum(own.last - own.first)))
        columns = (own.place.tolist(), own.first.tolist(), own.last.tolist())
        for (begin, end), place, first, last in zip(pairwise(ends.tolist()), *columns, strict=True):
            digest = EventDigest()
            digest.add(int(ranges.run[place]), int(ranges.lumi[place]), events[begin:end])
            yield place, first, last, digest.hex


def _numbers(friend: Joined, file: int, pieces: _Pieces) -> Keys:
    """(n_events,) numbers of the events."""
    if not friend.event_branch:
        ranges = zip(pieces.first.tolist(), pieces.last.tolist(), strict=True)
        return np.concatenate([np.arange(*each, dtype=np.uint64) for each in ranges])
    return _values(friend, file, [friend.event_branch], pieces)[friend.event_branch]


def _values(friend: Joined, file: int, names: Sequence[str], pieces: _Pieces) -> dict[str, Keys]:
    path, tree = friend.tables[file]
    entries = np.stack([pieces.first, pieces.last], axis=1).tolist()
    request = {"path": path, "tree": tree, "names": list(names), "pieces": entries}
    ((_, values),) = found_by_workers([request], "values")
    return {name: np.frombuffer(column, np.uint64) for name, column in values.items()}


def _shown(friend: Joined, pieces: _Pieces) -> str:
    """The first of these events: entries with their keys, and the file."""
    file = int(pieces.file[0])
    own = zip(pieces.file.tolist(), pieces.first.tolist(), pieces.last.tolist(), strict=True)
    ranges = (range(first, last) for number, first, last in own if number == file)
    first = np.fromiter(islice(chain.from_iterable(ranges), _SHOWN), np.int64)
    values = _values(friend, file, friend.by, _Pieces(first, first, first, first + 1))
    entries = [
        f"entry {entry} ({', '.join(f'{name} {column[n]}' for name, column in values.items())})"
        for n, entry in enumerate(first.tolist())
    ]
    more = pieces.n_events - len(first)
    return f"{', '.join(entries)} of {friend.tables[file][0]}" + (
        f" and {more:,} more" if more else ""
    )
