"""Encoding of LCIO records and of objects in collections, in the format of version 2.23: the size
of every item is a multiple of four bytes."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

_VERSION = 2 << 16 | 23
_RECORD, _BLOCK = 0xABADCAFE, 0xDEADBEEF


def block(name: str, content: bytes) -> bytes:
    """Encodes a block of a record's data."""
    own = _padded(name)
    head = struct.pack(">4I", 16 + len(own) + len(content), _BLOCK, _VERSION, len(name))
    return head + own + content


def record(name: str, data: bytes, is_compressed: bool = False) -> bytes:
    """Encodes a record with its head."""
    own, stored = _padded(name), zlib.compress(data) if is_compressed else data
    sizes = len(stored), len(data), len(name)
    head = struct.pack(">6I", 24 + len(own), _RECORD, is_compressed, *sizes)
    return head + own + stored + bytes(-len(stored) % 4)


def text(value: str) -> bytes:
    """Encodes a text after its length."""
    data = value.encode()
    return struct.pack(">i", len(data)) + data + bytes(-len(data) % 4)


def parameters(values: Mapping[str, Sequence[Any]]) -> bytes:
    """Encodes parameters of an event, a run or a collection: integers, reals of 4 bytes, texts."""
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


Words = npt.NDArray[Any]
NOBODY = 0xFFFFFFFF
"""Number of an object without pointers to it."""


class Objects:
    """Objects of a collection in many events. `event`: (n,) rising, event of each. Contents are
    added in LCIO's order of storage."""

    def __init__(self, event: Any) -> None:
        self.event = np.asarray(event)
        self._parts: list[Words] = []
        self._is_there: list[npt.NDArray[np.bool_]] = []

    def ints(self, *values: Any) -> Objects:
        """Adds integers of 4 bytes: (n,), (n, k) or one for all."""
        return self._add(">i8", values)

    def floats(self, *values: Any) -> Objects:
        """Adds reals of 4 bytes."""
        return self._add(">f4", values)

    def doubles(self, *values: Any) -> Objects:
        """Adds reals of 8 bytes."""
        return self._add(">f8", values)

    def lists(self, owner: Any, *fields: tuple[str, Any]) -> Objects:
        """Adds a list for each object, after its length. `owner`: (m,) rising, number of the object
        with the item; `fields`: ">i4" or ">f4" and the values of items, (m,) or (m, k)."""
        n = len(self.event)
        counts = np.bincount(owner, minlength=n)
        items = np.concatenate([_words(kind, values, len(owner)) for kind, values in fields], 1)
        most, width = int(counts.max(initial=0)), items.shape[1]
        place = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        part = np.zeros((n, most, width), ">u4")
        part[owner, place] = items
        is_there = np.repeat(np.arange(most) < counts[:, None], width, axis=1)
        self.ints(counts)
        self._parts.append(part.reshape(n, -1))
        self._is_there.append(is_there)
        return self

    def of_events(self, n_events: int) -> list[tuple[int, bytes]]:
        """Number of objects in each event, and their bytes."""
        words = np.concatenate(self._parts, axis=1)
        is_there = np.concatenate(self._is_there, axis=1)
        ends = np.concatenate([[0], np.cumsum(is_there.sum(axis=1))])
        flat = words[is_there].astype(">u4")
        borders = np.searchsorted(self.event, np.arange(n_events + 1))
        return [(b - a, flat[ends[a] : ends[b]].tobytes()) for a, b in pairwise(borders.tolist())]

    def _add(self, kind: str, values: tuple[Any, ...]) -> Objects:
        for each in values:
            part = _words(kind, each, len(self.event))
            self._parts.append(part)
            self._is_there.append(np.ones(part.shape, dtype=np.bool_))
        return self


def _words(kind: str, values: Any, n: int) -> Words:
    """(n, k) words of 4 bytes."""
    array = np.asarray(values)
    array = np.broadcast_to(array, (n,)) if array.ndim == 0 else array
    array = array.reshape(n, -1)
    if kind in (">i8", ">i4"):
        return array.astype(np.int64).astype(np.uint32).astype(">u4")
    return np.ascontiguousarray(array.astype(kind)).view(">u4").reshape(n, -1)
