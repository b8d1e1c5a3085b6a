"""Damage to files of LCIO with a purpose: numbers in heads of records, and content that is
compressed again, so that its checksum fits. Shares no code with what it tests."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

_MARKER = 0xABADCAFE


class LcioRecord(NamedTuple):
    """A record: place and bytes of its head, and of its data as they are stored."""

    at: int
    n_head: int
    is_compressed: bool
    n_stored: int

    @property
    def data(self) -> slice:
        """Their place in the file."""
        return slice(self.at + self.n_head, self.at + self.n_head + self.n_stored)


def is_lcio(data: bytes) -> bool:
    """Whether a file begins with a record of LCIO."""
    return data[4:8] == _MARKER.to_bytes(4, "big")


def lcio_records(data: bytes) -> Iterator[LcioRecord]:
    """All of an undamaged file."""
    at = 0
    while at < len(data):
        n_head, _, options, n_stored = struct.unpack_from(">4I", data, at)
        yield LcioRecord(at, n_head, bool(options & 1), n_stored)
        at += n_head + n_stored + (-n_stored % 4 if options & 1 else 0)


def damage_head(data: bytearray, draw: random.Random, change: Callable[..., None]) -> None:
    """A number in the head of a record."""
    record = draw.choice([*lcio_records(bytes(data))])
    change(data, record.at + 4 * draw.randrange(7), 4, draw)


def damage_content(data: bytearray, draw: random.Random, change: Callable[..., None]) -> None:
    """Words of a record, all later ones of which move where it gets longer or shorter."""
    record = draw.choice([*lcio_records(bytes(data))])
    content = bytearray(data[record.data])
    if record.is_compressed:
        content = bytearray(zlib.decompress(bytes(content)))
    for _ in range(draw.choice((1, 1, 1, 2, 8))):
        change(content, 4 * draw.randrange(len(content) // 4), 4, draw)
    stored = zlib.compress(bytes(content)) if record.is_compressed else bytes(content)
    struct.pack_into(">2I", data, record.at + 12, len(stored), len(content))
    end = record.data.stop + (-record.n_stored % 4 if record.is_compressed else 0)
    data[record.data.start : end] = stored + bytes(-len(stored) % 4)
