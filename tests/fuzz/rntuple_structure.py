"""Every number of what an RNTuple says of itself: its anchor, and each word of its header, footer
and page lists, where these are not compressed. Shares no code with what it tests."""

from __future__ import annotations

from collections.abc import Iterator

from tests.fuzz.records import Record
from tests.fuzz.walk import Data, Number, Walk

_KINDS = {1: "header", 2: "footer", 3: "page list"}
_OF_ANCHOR = {
    "byte count": 4, "version of class": 2, "epoch": 2, "major": 2, "minor": 2, "patch": 2,
    "seek header": 8, "stored bytes of header": 8, "bytes of header": 8,
    "seek footer": 8, "stored bytes of footer": 8, "bytes of footer": 8,
    "most bytes of a key": 8, "XXH3": 8,
}  # fmt: skip


def numbers_of_rntuple(data: Data, of: list[Record]) -> Iterator[Number]:
    """Those of all in a file, whose records these are."""
    for record in of:
        if record.kind == "ROOT::RNTuple":
            anchor = Walk(data, record.payload.start, f"anchor of {record.name}")
            anchor.numbers(**_OF_ANCHOR)
            yield from anchor.found.values()
        elif record.kind == "RBlob":
            yield from _envelope(data, record.payload)


def _envelope(data: Data, place: slice) -> Iterator[Number]:
    head = int.from_bytes(data[place.start : place.start + 8], "little")
    name = _KINDS.get(head & 0xFFFF)
    if name and head >> 16 == place.stop - place.start:
        envelope = Walk(data, place.start, f"{name} at {place.start}", "little")
        envelope.numbers(type=2, length=6)
        while envelope.at < place.stop:
            size = min(8, place.stop - envelope.at)
            envelope.number(f"word at {envelope.at - place.start}", size)
        yield from envelope.found.values()
