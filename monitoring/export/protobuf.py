"""Encoding of protocol buffers, as far as a trace needs it
(https://protobuf.dev/programming-guides/encoding)."""

from __future__ import annotations

import struct


def varint(value: int) -> bytes:
    """A number of 64 bits in groups of seven, the lowest first."""
    value &= (1 << 64) - 1
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def number(field: int, value: int) -> bytes:
    """A field of an integer, enum or bool."""
    return varint(field << 3) + varint(value)


def message(field: int, *parts: bytes) -> bytes:
    """A field that is a message of its own; parts: its fields."""
    content = b"".join(parts)
    return varint(field << 3 | 2) + varint(len(content)) + content


def text(field: int, value: str) -> bytes:
    """A field of a string."""
    return message(field, value.encode("utf-8", "replace"))


def real(field: int, value: float) -> bytes:
    """A field of a double."""
    return varint(field << 3 | 1) + struct.pack("<d", value)
