"""Searches in a helper process: for repeated events, and for the partners of entries in a
friend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from forkrun._core import EventDigest, KeyIndex
from forkrun.formats import format_of
from forkrun.formats.plain import ids_of
from forkrun.index.partners import NONE, SEVERAL

_READ_AT_ONCE = 1 << 20
Integers = npt.NDArray[np.int64]
Events = npt.NDArray[np.uint64]


def find_repeats(request: dict[str, Any]) -> dict[str, Any]:
    """`parts`: [number of the range, first, last, digest] of each sequence of entries that repeat
    events of earlier ranges; `example`: [run, lumi, event, [file, entry], [file, entry]] of the
    first. Covers only events whose numbers have the requested residue."""
    ranges = {name: np.frombuffer(column, np.int64) for name, column in request["ranges"].items()}
    events, of_range, entry = _read(request, ranges)
    lumi = (ranges["run"] << 32 | ranges["lumi"])[of_range]
    order = np.lexsort((events, lumi))
    same = (lumi[order][1:] == lumi[order][:-1]) & (events[order][1:] == events[order][:-1])
    again = np.sort(order[1:][same])
    if not len(again):
        return {"parts": []}
    first = np.flatnonzero((lumi == lumi[again[0]]) & (events == events[again[0]]))[0]
    own = of_range[again[0]]
    where = [[int(ranges["file"][of_range[n]]), int(entry[n])] for n in (first, again[0])]
    ids = [int(ranges["run"][own]), int(ranges["lumi"][own]), int(events[again[0]])]
    return {
        "example": [*ids, *where],
        "parts": list(_parts(request, ranges, of_range[again], entry[again], events[again])),
    }


def _read(
    request: dict[str, Any], ranges: dict[str, Integers]
) -> tuple[Events, Integers, Integers]:
    """Event numbers, with the range and entry of each."""
    branch, residue, n_residues = (
        request[key] for key in ("event_branch", "residue", "n_residues")
    )
    events, of_range, entries = [], [], []
    table: Any = None
    opened = None
    for number, (file, first, last) in enumerate(
        zip(*(ranges[name].tolist() for name in ("file", "first", "last")), strict=True)
    ):
        if file != opened:
            path, tree = request["paths"][str(file)], request["trees"][str(file)]
            table, opened = format_of(path).opened(path, tree), file
        for begin in range(first, last, _READ_AT_ONCE):
            end = min(begin + _READ_AT_ONCE, last)
            values = ids_of(table.read([branch], begin, end)[branch])
            (own,) = np.nonzero(values % np.uint64(n_residues) == residue)
            events.append(values[own])
            entries.append(own + begin)
            of_range.append(np.full(len(own), number))
    return np.concatenate(events), np.concatenate(of_range), np.concatenate(entries)


def _parts(
    request: dict[str, Any],
    ranges: dict[str, Integers],
    of_range: Integers,
    entry: Integers,
    events: Events,
) -> Iterator[tuple[int, int, int, str]]:
    """Joins consecutive entries of one range."""
    breaks = np.flatnonzero((np.diff(of_range) != 0) | (np.diff(entry) != 1)) + 1
    for places in np.split(np.arange(len(entry)), breaks):
        own = int(of_range[places[0]])
        digest = EventDigest()
        digest.add(int(ranges["run"][own]), int(ranges["lumi"][own]), events[places])
        first, last = int(entry[places[0]]), int(entry[places[-1]]) + 1
        yield own, first, last, digest.hex


_KEYS_AT_ONCE = 1 << 22
Keys = list[npt.NDArray[np.uint64]]


def find_partners(request: dict[str, Any]) -> dict[str, Any]:
    """`files`: the columns of the `Partners` of each input file, as bytes."""
    by = request["by"]
    index = KeyIndex(len(by))
    ends = []
    for path, tree, n_entries, _ in request["friends"]:
        for _, keys in _keys_read(path, tree, n_entries, list(by.values())):
            index.add(keys)
        ends.append(len(index))
    found = []
    for path, tree, n_entries, _ in request["inputs"]:
        parts = [
            _partners(index, keys, begin, ends, takes_first=request["takes_first"])
            for begin, keys in _keys_read(path, tree, n_entries, list(by))
        ]
        columns = zip(*parts, strict=True) if parts else [[np.empty(0, np.int64)]] * 4
        found.append([np.concatenate(column).tobytes() for column in columns])
    return {"files": found}


def _keys_read(
    path: str, tree: str, n_entries: int, names: Sequence[str]
) -> Iterator[tuple[int, Keys]]:
    """First entry and keys of each part; negative numbers have the bits of ROOT's branches with
    another sign."""
    if not n_entries:
        return
    opened = format_of(path).opened(path, tree)
    for begin in range(0, n_entries, _KEYS_AT_ONCE):
        columns = opened.read(names, begin, min(begin + _KEYS_AT_ONCE, n_entries))
        values = [np.asarray(columns[name]) for name in names]
        yield begin, [each.astype(np.int64).view(np.uint64) for each in values]


def _partners(
    index: KeyIndex, keys: Keys, begin: int, ends: Sequence[int], *, takes_first: bool
) -> tuple[npt.NDArray[Any], ...]:
    """First entry, number of the friend's file, entry there and repeat flag of each sequence, which
    never crosses a file of the friend."""
    first, entry, repeats = index.partners(keys, takes_first)
    n = len(keys[0])
    last = np.append(first[1:], n)
    in_a_row = (entry >= 0) & (repeats == 0)
    file = np.searchsorted(ends, entry, side="right")
    last_file = np.searchsorted(ends, entry + (last - first) - 1, side="right")
    crosses = np.flatnonzero(in_a_row & (last_file > file))
    for place in crosses[::-1].tolist():
        inner = np.asarray(ends[file[place] : last_file[place]])
        inner = np.unique(inner[inner > entry[place]])
        first = np.insert(first, place + 1, first[place] + inner - entry[place])
        entry = np.insert(entry, place + 1, inner)
        repeats = np.insert(repeats, place + 1, 0)
    file = np.searchsorted(ends, entry, side="right")
    begins = np.concatenate(([0], ends))[:-1] if len(ends) else np.zeros(1, np.int64)
    has_some = entry >= 0
    within = np.where(has_some, entry - begins[np.where(has_some, file, 0)], 0)
    numbers = np.where(has_some, file, np.where(entry == NONE, NONE, SEVERAL))
    return first + begin, numbers.astype(np.int32), within.astype(np.int64), repeats
