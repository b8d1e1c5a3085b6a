"""What a ROOT file consists of: a header, then records, each with a key. Knows as much of the
format as damage with a purpose needs, and shares no code with what it tests."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_FIXED = struct.Struct(">ihiIhh")  # bytes, version, object bytes, date, key bytes, cycle
_LARGE = 1000  # added to the version of a key with places of 64 bits


@dataclass(frozen=True)
class Record:
    """One record: `at`, `n_bytes` on file, of which the first `key_bytes` are its key. `payload`:
    the object, compressed where it is not as long as `object_bytes`."""

    at: int
    n_bytes: int
    key_bytes: int
    object_bytes: int
    is_large: bool
    kind: str
    name: str

    @property
    def payload(self) -> slice:
        """Its place in the file."""
        return slice(self.at + self.key_bytes, self.at + self.n_bytes)

    @property
    def fields(self) -> list[tuple[int, int]]:
        """(place, size) of the numbers of the key, and for a basket those of its own header."""
        wide = 8 if self.is_large else 4
        sizes = [4, 2, 4, 4, 2, 2, wide, wide]
        places = [(self.at + sum(sizes[:i]), size) for i, size in enumerate(sizes)]
        places.append((self.at + sum(sizes), 1))  # length of the name of the class
        if self.kind == "TBasket":
            end = self.at + self.key_bytes
            places += [(end - 19, 2), *((end - 17 + 4 * i, 4) for i in range(4))]
        return places


def header_fields(data: bytes) -> list[tuple[int, int]]:
    """(place, size) of the numbers of the file's header."""
    is_large = struct.unpack_from(">i", data, 4)[0] >= 1_000_000
    wide = 8 if is_large else 4
    sizes = [4, 4, 4, wide, wide, 4, 4, 4, 1, 4, wide, 4]
    return [(sum(sizes[:i]), size) for i, size in enumerate(sizes)]


def records(data: bytes) -> list[Record]:
    """All records of an undamaged file, gaps left out."""
    return list(_records(data))


def _records(data: bytes) -> Iterator[Record]:
    version, at = struct.unpack_from(">ii", data, 4)
    end = struct.unpack_from(">q" if version >= 1_000_000 else ">i", data, 12)[0]
    while at < end:
        n_bytes, version, object_bytes, _, key_bytes, _ = _FIXED.unpack_from(data, at)
        if n_bytes > 0:
            kind, after = _text(data, at + _FIXED.size + (16 if version > _LARGE else 8))
            name, _ = _text(data, after)
            yield Record(at, n_bytes, key_bytes, object_bytes, version > _LARGE, kind, name)
        at += abs(n_bytes)


def _text(data: bytes, at: int) -> tuple[str, int]:
    length, begin = data[at], at + 1
    if length == 255:
        length, begin = struct.unpack_from(">i", data, begin)[0], begin + 4
    return data[begin : begin + length].decode("latin-1"), begin + length
