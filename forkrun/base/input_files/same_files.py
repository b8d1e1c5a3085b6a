"""Detects files given twice: by a link, or as a copy."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

_HEADER = 512
"""First bytes of a file, among them the UUID of a ROOT file."""
_COMPARED = 1 << 20
_N_COMPARED = 64
"""Bytes compared between files of one size and header, at this many places."""


def find_repeated(files: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Pairs of a file and a later one that is the same. Remote files (URLs) are compared by
    name."""
    known: dict[tuple[int, bytes | str], list[str]] = {}
    for file in files:
        alike = known.setdefault(_alike(file), [])
        before = next((other for other in alike if other == file or same_file(other, file)), None)
        if before is None:
            alike.append(file)
        else:
            yield before, file


def same_file(a: str, b: str) -> bool:
    """Whether two files of one size are the same, or have the same bytes at the compared places.
    ROOT writes the same UUID into all reproducible files."""
    if os.path.samefile(a, b):
        return True
    with open(a, "rb") as left, open(b, "rb") as right:
        n_bytes = os.fstat(left.fileno()).st_size
        step = max((n_bytes - _COMPARED) // _N_COMPARED, _COMPARED)
        for place in {*range(0, n_bytes, step), max(n_bytes - _COMPARED, 0)}:
            left.seek(place)
            right.seek(place)
            if left.read(_COMPARED) != right.read(_COMPARED):
                return False
    return True


def _alike(file: str) -> tuple[int, bytes | str]:
    try:
        with open(file, "rb") as opened:
            return os.fstat(opened.fileno()).st_size, opened.read(_HEADER)
    except OSError:
        return -1, file
