"""Search for repeated events, in a helper process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from forkrun._core import EventDigest
from forkrun.formats import format_of
from forkrun.formats.plain import ids_of

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
