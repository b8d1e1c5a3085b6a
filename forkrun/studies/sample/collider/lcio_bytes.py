"""Encoding of LCIO records, in the format of version 2.23."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

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
