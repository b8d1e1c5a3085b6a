"""Finds events by their ids, and sums of weights of generated events, which NanoAOD stores in the
tree `Runs` of each file: read in helper processes, like the index."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from forkrun._core import EventDigest
from forkrun.base.user_text import short
from forkrun.config.source import IdBranches
from forkrun.errors import ConfigError, InputError
from forkrun.index.model import FileIndex, LumiRange
from forkrun.index.read import found_by_workers


class EventId(NamedTuple):
    """Ids of an input event."""

    run: int
    lumi: int
    event: int

    def __str__(self) -> str:
        return f"{self.run}:{self.lumi}:{self.event}"

    @classmethod
    def parse(cls, text: str) -> EventId:
        """Parses RUN:LUMI:EVENT. Raises ConfigError."""
        parts = text.split(":")
        if len(parts) != 3 or not all(map(_is_id, parts)):
            raise ConfigError(f"source.only: {short(text)} is not of the form RUN:LUMI:EVENT")
        run, lumi, event = map(int, parts)
        if run >= 1 << 32 or lumi >= 1 << 32 or event >= 1 << 64:
            what = "runs and lumis have 32 bits, events 64"
            raise ConfigError(f"source.only: {text} cannot be an event: {what}")
        return cls(run, lumi, event)


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 20


def only_events(
    index: Sequence[FileIndex], ids: IdBranches, events: Sequence[EventId], once: bool = False
) -> list[FileIndex]:
    """Index of the files, restricted to these events; `once`: the first of each in input order.
    Raises InputError, which names missing events."""
    found: dict[str, list[LumiRange]] = {file.name: [] for file in index}
    missing = set(events)
    number = {file.name: n for n, file in enumerate(index)}
    places = sorted(_find(index, ids, events), key=lambda place: (number[place[0]], place[2]))
    if once:
        places = list({place[1]: place for place in reversed(places)}.values())
    for name, event, entry in places:
        digest = EventDigest()
        digest.add(event.run, event.lumi, np.array([event.event], dtype=np.uint64))
        found[name].append(LumiRange(event.run, event.lumi, entry, entry + 1, digest.hex))
        missing.discard(event)
    if missing:
        names = ", ".join(map(str, sorted(missing)))
        raise InputError(f"source.only: the input has no event {names}")
    return [replace(file, ranges=tuple(sorted(found[file.name], key=_first))) for file in index]


def _first(r: LumiRange) -> int:
    return r.first


def _find(
    index: Sequence[FileIndex], ids: IdBranches, events: Sequence[EventId]
) -> list[tuple[str, EventId, int]]:
    """File name, event and entry of each event found."""
    requests = [request for file in index for request in _requests(file, ids, events)]
    if not ids.event_branch:  # the number of an event is that of its entry
        return [
            (r["name"], EventId(r["run"], r["lumi"], event), event)
            for r in requests
            for event in r["events"]
            if r["first"] <= event < r["last"]
        ]
    found = []
    for request, events_found in found_by_workers(requests, "found"):
        for event, entry in events_found:
            found.append((request["name"], EventId(request["run"], request["lumi"], event), entry))
    return found


def _requests(file: FileIndex, ids: IdBranches, events: Sequence[EventId]) -> list[dict[str, Any]]:
    """Requests, one for each range of entries that may hold some of the events."""
    requests = []
    for r in file.ranges:
        wanted = [e.event for e in events if (e.run, e.lumi) == (r.run, r.lumi)]
        if wanted:
            requests.append(
                {"path": file.path, "name": file.name, "tree": file.tree or ids.tree,
                 "event_branch": ids.event_branch, "run": r.run, "lumi": r.lumi,
                 "first": r.first, "last": r.last, "events": wanted}
            )  # fmt: skip
    return requests


COLUMNS = ("genEventSumw", "genEventSumw_")
"""Alternative names, by version of NanoAOD."""
StoredSums = Mapping[str, Sequence[tuple[str, float]]]
"""Result of `sums_of_weights`, by file."""
WEIGHT = "genWeight"
"""Weight of each event, in the tree of events."""
_SAME = 1e-5
"""Tolerance: Runs adds values that are rounded to 24 bits in the events."""


def sums_of_weights(files: Iterable[str]) -> StoredSums:
    """Sums for each file, by the file of origin of its rows: (name, sum), with "" for itself. Omits
    files without such a tree. Read in helper processes. Raises InputError."""
    requests: list[dict[str, Any]] = [
        {"path": file, "tree": "Runs", "sum_of": COLUMNS} for file in dict.fromkeys(files) if file
    ]
    sums: dict[str, list[tuple[str, float]]] = {}
    for request, found in found_by_workers(requests, "sums", "the tree Runs: "):
        if found is not None:
            sums[request["path"]] = [(origin, float(value)) for origin, value in found]
    return sums


class Share(NamedTuple):
    """Part of a file that is read: `n_read` of `n_counted` events; `of_weights`: fraction of the
    sum of weights, if Runs covers exactly the events of the file."""

    n_read: int
    n_counted: int
    of_weights: float | None = None


class WantedWeights(NamedTuple):
    """Entries [first, last) of a file that are read."""

    path: str
    tree: str
    n_entries: int
    pieces: Sequence[tuple[int, int]]


def shares_of_weights(wanted: Iterable[WantedWeights], sums: StoredSums) -> dict[str, float]:
    """Fraction of each file's sum of weights in the entries read. Omits files whose events have
    another sum than Runs, being a skim, or have no weights. Read in helper processes. Raises
    InputError."""
    requests: list[dict[str, Any]] = [
        {**each._asdict(), "weights": WEIGHT, "pieces": [list(p) for p in each.pieces]}
        for each in wanted
    ]
    shares = {}
    for request, (read, total, magnitude) in found_by_workers(requests, "weights"):
        told = math.fsum(value for _, value in sums[request["path"]])
        if total and abs(total - told) <= _SAME * magnitude:
            shares[request["path"]] = read / total
    return shares


def total_of(sums: StoredSums, shares: Mapping[str, Share] | None = None) -> float:
    """Total of `sums_of_weights` over files, scaled to the events read (no shares: all are): sums
    carried to several files count once. Files without events count like the average of the
    others."""
    values: dict[str, float] = {}
    held: dict[str, list[Share]] = {}
    for file, of_origins in sums.items():
        for origin, value in of_origins:
            values.setdefault(origin or file, value)
            held.setdefault(origin or file, []).append(shares[file] if shares else Share(1, 1))
    others = _share(list((shares or {}).values()), 1.0)
    return math.fsum(value * _share(held[origin], others) for origin, value in values.items())


def _share(shares: Sequence[Share], if_empty: float) -> float:
    if len(shares) == 1 and shares[0].of_weights is not None:
        return shares[0].of_weights
    n_counted = sum(each.n_counted for each in shares)
    return sum(each.n_read for each in shares) / n_counted if n_counted else if_empty
