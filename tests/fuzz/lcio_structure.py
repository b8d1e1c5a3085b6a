"""Every number by which a reader goes from record to record of a file of LCIO, and from block to
block: those of heads, those that tell events, and those for random access. Shares no code with what
it tests."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from tests.fuzz.lcio_damage import lcio_records
from tests.fuzz.walk import Data, Number, Walk

_OF_EVENT = {"run": 4, "event": 4}
_OF_ACCESS = dict.fromkeys(("minRun", "minEvent", "maxRun", "maxEvent", "nRuns", "nEvents"), 4)
_OF_ACCESS |= {"inOrder": 4, "index": 8, "previous": 8, "next": 8, "first": 8, "marker of size": 4}


def numbers_of_lcio(data: Data) -> list[Number]:
    """Those of a file; of records without compression also those of their blocks. Values, times and
    versions have no second place that tells them, and are left out."""
    return [number for walk in _walks(data) for number in walk.found.values()]


def _walks(data: Data) -> Iterator[Walk]:
    for count, record in enumerate(lcio_records(data[:])):
        head = Walk(data, record.at, f"record {count}")
        head.numbers(**{"length of head": 4, "marker": 4, "options": 4, "stored bytes": 4})
        head.numbers(**{"bytes": 4, "length of name": 4})
        yield head
        if record.is_compressed:
            packed = Walk(data, record.data.start, f"record {count}: zlib")
            packed.number("head", 2)
            packed.at = record.data.stop - 4
            packed.number("Adler-32", 4)
            yield packed
        else:
            yield from _blocks(data, record.data, f"record {count}")


def _blocks(data: Data, place: slice, of: str) -> Iterator[Walk]:
    at = place.start
    while at < place.stop:
        n_bytes, _, _, n_name = struct.unpack_from(">4I", data, at)
        name = data[at + 16 : at + 16 + n_name].decode()
        block = Walk(data, at, f"{of}: block {name}")
        block.numbers(length=4, marker=4)
        block.at += 4  # the version
        block.number("length of name", 4)
        block.at += n_name + -n_name % 4
        _add_content(block, name)
        yield block
        at += n_bytes


def _add_content(block: Walk, name: str) -> None:
    if name == "RunHeader":
        block.number("run", 4)
    elif name == "EventHeader":
        block.numbers(**_OF_EVENT)
    elif name == "LCIORandomAccess":
        block.numbers(**_OF_ACCESS)
    elif name == "LCIOIndex":
        _add_index(block)


def _add_index(block: Walk) -> None:
    control = block.number("control", 4)
    block.numbers(runMin=4, base=8)
    for row in range(block.number("n", 4)):
        if not control & 1:
            block.number(f"run of {row}", 4)
        block.number(f"event of {row}", 4)
        block.number(f"offset of {row}", 8 if control & 2 else 4)
