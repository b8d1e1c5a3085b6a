"""Finds events by their ids: read in helper processes, like the index."""

from __future__ import annotations

from collections.abc import Sequence
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
