"""Which CPUs a child may use."""

from __future__ import annotations

import os
from collections.abc import Sequence


def cpus_of(child: int, threads: int, available: Sequence[int]) -> set[int]:
    """`threads` CPUs for this child, after those of the children before it; begins again when all
    are taken. Pure."""
    first = child * threads
    return {available[(first + n) % len(available)] for n in range(threads)}


def bind(child: int, threads: int) -> None:
    """Binds this process, and the threads that it will start, to CPUs."""
    os.sched_setaffinity(0, cpus_of(child, threads, sorted(os.sched_getaffinity(0))))
