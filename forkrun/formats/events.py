"""Source of a job's events, and the outputs made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from forkrun import _core
from forkrun._core import EventSource as EventSource
from forkrun._core import OutputToMake as OutputToMake

Ids = tuple[str, str, str]
"""Branches of run, lumi and number of an event."""
COMPRESSION = "auto"
"""Default compression of new baskets: small and fast."""
NO_IDS: Ids = ("", "", "")
"""Made-up ids: run 1, a lumi for each file, the number of an entry."""
Identity = tuple[str, int, int]
"""UUID, size in bytes, and time of the last change of a file."""
Read = Callable[[str, str, Sequence[str], int, int], Mapping[str, Any]]
"""Reads columns. Arguments: path of a file, name of its table, names, and a range [first, last) of
entries."""


def first_file(clusters: Sequence[Sequence[int]]) -> int:
    """Number of the file whose tree determines the structure of outputs: the first with events; if
    none has any, the first whose tree has branches."""
    return _core.first_file([of_file[:2] for of_file in clusters])


Range = tuple[int, int, int]
"""Number of the file, and a range [first, last) of entries."""
