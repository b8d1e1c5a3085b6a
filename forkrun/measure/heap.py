"""The C library's heap."""

from __future__ import annotations

import ctypes


def trim_heap() -> None:
    """Gives free memory of glibc's heap back, where there is glibc: it is nothing to share, and
    what is written to it later is memory that every process needs for itself."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
