"""Which library a thread belongs to: most do not give their threads names."""

from __future__ import annotations

import os
import re
import struct
import time
from bisect import bisect_right
from pathlib import Path

from msgspec import Struct

_PROC = Path("/proc/self")
_STACK_BYTES = 1 << 20
_PATIENCE_S = 1.0
# Every thread begins in these; they say nothing about what started it.
_COMMON = re.compile(r"/(libc|libpthread|ld-linux|libstdc\+\+|libpython|python)[^/]*$")


class _Mapping(Struct, frozen=True):
    first: int
    last: int
    executable: bool
    file: str


def owner_of(thread: str) -> str | None:
    """Name of the library whose function a sleeping thread was started with: the outermost return
    address on its stack that is not of the C library or Python. None if that cannot be seen."""
    try:
        mappings = _mappings()
        words = _stack(_stack_pointer(thread), mappings)
    except (OSError, IndexError, StopIteration):  # it runs, it has ended, or we may not look
        return None
    firsts = [mapping.first for mapping in mappings]
    for word in reversed(words):
        mapping = mappings[bisect_right(firsts, word) - 1]
        if mapping.executable and word < mapping.last and not _COMMON.search(mapping.file):
            return mapping.file.rpartition("/")[2]
    return None


def _stack_pointer(thread: str) -> int:
    """Stack pointer of a thread once it waits: a pool's threads look for work for a while first."""
    deadline_s = time.monotonic() + _PATIENCE_S
    while True:
        fields = (_PROC / "task" / thread / "syscall").read_text().split()
        if len(fields) > 2 or time.monotonic() > deadline_s:
            return int(fields[-2], 16)
        time.sleep(0.01)


def _mappings() -> list[_Mapping]:
    """Mappings of this process, in order of addresses."""
    found = []
    for line in (_PROC / "maps").read_text().splitlines():
        places, access, _, _, _, *name = line.split(maxsplit=5)
        first, last = (int(place, 16) for place in places.split("-"))
        file = name[0] if name and name[0].startswith("/") else ""
        found.append(_Mapping(first, last, "x" in access and bool(file), file))
    return found


def _stack(pointer: int, mappings: list[_Mapping]) -> tuple[int, ...]:
    """Words from the stack pointer up to the stack's end."""
    mapping = next(m for m in mappings if m.first <= pointer < m.last)
    with open(_PROC / "mem", "rb", buffering=0) as memory:
        first = pointer & ~7
        size = min(mapping.last - first, _STACK_BYTES)
        stack = os.pread(memory.fileno(), size, first)
    return struct.unpack(f"={len(stack) // 8}Q", stack)
