"""The page cache of the kernel: dropping files from it, and their share in it."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Sequence
from pathlib import Path

COLD_SHARE = 0.02
"""Maximum share in memory of files that count as cold."""


def drop_from_cache(files: Sequence[Path]) -> float:
    """Asks the kernel to drop these files; returns the share of their bytes still in memory: other
    programs use them, or the file system ignores the request."""
    for file in files:
        with file.open("rb") as opened:
            os.fsync(opened.fileno())  # pages not yet on disk stay
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return cached_share(files)


def warm_cache(files: Sequence[Path]) -> None:
    """Reads all files."""
    for file in files:
        with file.open("rb") as opened:
            while opened.read(1 << 22):
                pass


def cached_share(files: Sequence[Path]) -> float:
    """Share of these files' pages that is in memory."""
    counts = [_resident_pages(file) for file in files]
    n_pages = sum(n for _, n in counts)
    return sum(n for n, _ in counts) / n_pages if n_pages else 0.0


def _resident_pages(file: Path) -> tuple[int, int]:
    """Pages in memory, and all pages, according to mincore(2)."""
    n_bytes = file.stat().st_size
    n_pages = -(-n_bytes // mmap.PAGESIZE)
    if not n_pages:
        return 0, 0
    flags = bytearray(n_pages)
    # A private mapping is writable, as ctypes requires to get its address; it is never written.
    with file.open("rb") as opened:
        mapped = mmap.mmap(opened.fileno(), n_bytes, access=mmap.ACCESS_COPY)
    try:
        place = ctypes.c_char.from_buffer(mapped)
        into = (ctypes.c_ubyte * n_pages).from_buffer(flags)
        mincore = ctypes.CDLL(None, use_errno=True).mincore
        if mincore(ctypes.c_void_p(ctypes.addressof(place)), ctypes.c_size_t(n_bytes), into):
            raise OSError(ctypes.get_errno(), "mincore")
        del place, into
    finally:
        mapped.close()
    return sum(flag & 1 for flag in flags), n_pages
