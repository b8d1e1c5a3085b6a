"""The records of a ROOT file one after the other, by the published layout: for what readers of
objects do not show."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple
from uuid import UUID


class Record(NamedTuple):
    """A key. `type`: the class of what it holds."""

    type: str
    name: str
    date: datetime


def records(path: Path) -> Iterator[Record]:
    """All that are not freed."""
    data = path.read_bytes()
    at = 100
    while at < len(data):
        (n_bytes,) = struct.unpack_from(">i", data, at)
        if n_bytes > 0:
            yield _record(data, at)
        at += abs(n_bytes)


def _record(data: bytes, at: int) -> Record:
    version, _, date = struct.unpack_from(">hiI", data, at + 4)
    names = at + (34 if version > 1000 else 26)
    n_type = data[names]
    n_name = data[names + 1 + n_type]
    type_ = data[names + 1 :][:n_type].decode()
    name = data[names + 2 + n_type :][:n_name].decode()
    return Record(type_, name, _datetime(date))


def _datetime(date: int) -> datetime:
    return datetime(
        1995 + (date >> 26),
        (date >> 22) & 15,
        (date >> 17) & 31,
        (date >> 12) & 31,
        (date >> 6) & 63,
        date & 63,
    )


def uuids(path: Path) -> tuple[UUID, UUID]:
    """UUIDs in the header of a file of less than 2 GB, and in its top directory."""
    data = path.read_bytes()
    (n_name_bytes,) = struct.unpack_from(">i", data, 28)
    directory = 100 + n_name_bytes
    return UUID(bytes=data[47:63]), UUID(bytes=data[directory + 32 : directory + 48])
