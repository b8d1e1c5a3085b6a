"""Compressed records, opened and closed again after their content was damaged."""

from __future__ import annotations

import lzma
import struct
import zlib
from dataclasses import dataclass

from uproot.compression import decompress
from uproot.source.chunk import Chunk
from uproot.source.cursor import Cursor

_BLOCK = 0xFFFFFF


@dataclass
class _Whole:
    """What uproot wants to know of a file."""

    file_path: str = "memory"


def opened(payload: bytes, n_bytes: int) -> bytes:
    """The object of a record."""
    if len(payload) >= n_bytes:
        return payload[:n_bytes]
    chunk = Chunk.wrap(None, bytes(payload))
    done = decompress(chunk, Cursor(0), {}, len(payload), n_bytes)
    return bytes(done.raw_data)


def closed(content: bytes, room: int) -> bytes | None:
    """The content compressed by what makes it smallest, filled up to `room` bytes; None if it does
    not fit."""
    blocks = [content[at : at + _BLOCK] for at in range(0, len(content), _BLOCK)]
    for kind, compress in ((b"ZL\x08", _zlib), (b"XZ\x00", _lzma)):
        packed = b"".join(_block(kind, compress(block), block) for block in blocks)
        if len(packed) <= room:
            return packed.ljust(room, b"\0")
    return None


def _zlib(block: bytes) -> bytes:
    return zlib.compress(block, 9)


def _lzma(block: bytes) -> bytes:
    return lzma.compress(block, preset=9 | lzma.PRESET_EXTREME)


def _block(kind: bytes, packed: bytes, block: bytes) -> bytes:
    sizes = struct.pack("<I", len(packed))[:3] + struct.pack("<I", len(block))[:3]
    return kind + sizes + packed
