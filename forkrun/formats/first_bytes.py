"""How files begin, which tells their format."""

from __future__ import annotations

import os


def first_bytes(path: str, n: int) -> bytes | None:
    """The first `n` bytes of a local file, or all if it has fewer; None if it cannot be read. A
    pipe without a writer is not waited for."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        return os.read(descriptor, n)
    except OSError:
        return None
    finally:
        os.close(descriptor)
