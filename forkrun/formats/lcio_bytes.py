"""Records of LCIO as bytes, in the form of version 2.23."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.lib.recfunctions import repack_fields

_VERSION = 2 << 16 | 23
_RECORD, _BLOCK = 0xABADCAFE, 0xDEADBEEF
_HAS_ONE_RUN, _HAS_LONG_OFFSETS = 1, 2


def index_block(runs: Sequence[int], events: Sequence[int], places: Sequence[int]) -> bytes:
    """By what LCIO finds events: offsets count from the first record."""
    least, base = min(runs, default=0), min(places, default=0)
    offsets = [place - base for place in places]
    has_one = len(set(runs)) <= 1
    is_long = max(offsets, default=0) >= 1 << 31
    control = has_one * _HAS_ONE_RUN | is_long * _HAS_LONG_OFFSETS
    content = struct.pack(">Iiqi", control, least, base, len(runs))
    rows = np.zeros(
        len(runs), [("run", ">i4"), ("event", ">i4"), ("at", ">i8" if is_long else ">i4")]
    )
    rows["run"], rows["event"], rows["at"] = np.array(runs, np.int64) - least, events, offsets
    names = ["event", "at"] if has_one else ["run", "event", "at"]
    content += repack_fields(rows[names]).tobytes()
    return block("LCIOIndex", content)


def access_record(
    first: tuple[int, int],
    last: tuple[int, int],
    counts: tuple[int, int],
    *places: int,
) -> bytes:
    """`counts`: of run headers and events; `places`: of the index, of the previous and the next
    such record, and of the first."""
    is_in_order = 1
    numbers = struct.pack(">7i", *first, *last, *counts, is_in_order)
    content = numbers + struct.pack(">4qI", *places, 0xABCD0000 | 136)
    return record("LCIORandomAccess", block("LCIORandomAccess", content))


def block(name: str, content: bytes) -> bytes:
    """A part of a record's data."""
    own = _padded(name)
    head = struct.pack(">4I", 16 + len(own) + len(content), _BLOCK, _VERSION, len(name))
    return head + own + content


def record(name: str, data: bytes, is_compressed: bool = False) -> bytes:
    """A record with its head."""
    own, stored = _padded(name), zlib.compress(data) if is_compressed else data
    sizes = len(stored), len(data), len(name)
    head = struct.pack(">6I", 24 + len(own), _RECORD, is_compressed, *sizes)
    return head + own + stored + bytes(-len(stored) % 4)


def text(value: str) -> bytes:
    """A text behind its length."""
    data = value.encode()
    return struct.pack(">i", len(data)) + data + bytes(-len(data) % 4)


def parameters(values: Mapping[str, Sequence[Any]]) -> bytes:
    """Those of an event, a run or a collection: integers, reals of 4 bytes, texts."""
    parts = b""
    for kind, code in ((int, "i"), (float, "f"), (None, "d"), (str, "")):
        own = sorted((name, v) for name, v in values.items() if kind and isinstance(v[0], kind))
        parts += struct.pack(">i", len(own))
        for name, v in own:
            stored = b"".join(map(text, v)) if kind is str else struct.pack(f">{len(v)}{code}", *v)
            parts += text(name) + struct.pack(">i", len(v)) + stored
    return parts


def _padded(name: str) -> bytes:
    return name.encode() + bytes(-len(name) % 4)
