"""Watches the memory of a job before the kernel does."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from enum import Enum, auto
from functools import cache, partial
from pathlib import Path

from msgspec import Struct

from forkrun.base.cgroups import CGROUPS, PROC, held_bytes, memory_limits
from forkrun.base.quantities import size
from forkrun.monitoring.process_reading import ProcessReader, ProcessReading

_TIGHT = 0.90
_TOO_MUCH = 0.96
_CHECK_EVERY_S = 1.0
_SHARE_OF_TIME = 0.005  # of the parent's time, for checks
_ANSWER_S = 15.0  # that a child which was asked to end has, before the next one is asked


class MemoryLimit(Struct, frozen=True):
    """`cgroup`: its folder; None for a limit of the job's own."""

    n_bytes: int
    why: str
    cgroup: Path | None = None


class Relief(Enum):
    """How memory is freed."""

    RECYCLE = auto()
    KILL = auto()


class Demand(Struct, frozen=True):
    """What is to be done about which child, and why."""

    relief: Relief
    child: int
    words: str


def find_limit(own: int | None, proc: Path = PROC, cgroups: Path = CGROUPS) -> MemoryLimit | None:
    """The smaller of the job's own limit and that of its cgroups (version 2 or 1)."""
    groups = memory_limits(proc, cgroups)
    limits = [MemoryLimit(n_bytes, str(file), file.parent) for n_bytes, file in groups]
    if own is not None:
        limits.append(MemoryLimit(own, "limits.memory"))
    return min(limits, key=lambda limit: limit.n_bytes, default=None)


class MemoryGuard:
    """Checks the memory of a job's processes: pids by child and the parent's own. It stops none of
    them for longer than its `reader` does."""

    def __init__(
        self, limit: MemoryLimit | None, parent: int, reader: ProcessReader | None = None
    ) -> None:
        self._limit = limit
        self._parent = parent
        self._reader = reader or ProcessReader()
        self._check_at_s = 0.0
        self._answer_by_s: dict[int, float] = {}

    def check(self, running: Mapping[int, int]) -> Demand | None:
        """What has to be done now, if anything."""
        start_s = time.monotonic()
        if self._limit is None or start_s < self._check_at_s or not running:
            return None
        demand = self._judge(self._limit, running, start_s)
        end_s = time.monotonic()
        self._check_at_s = end_s + max(_CHECK_EVERY_S, (end_s - start_s) / _SHARE_OF_TIME)
        return demand

    def _judge(self, limit: MemoryLimit, running: Mapping[int, int], now_s: float) -> Demand | None:
        # Each process is read once per check.
        read = cache(partial(self._reader.read, n_processes=1 + len(running)))
        used = _used(limit, (self._parent, *running.values()), read)
        share = used / limit.n_bytes
        asked = {c: t for c, t in self._answer_by_s.items() if c in running and t > now_s}
        self._answer_by_s = asked
        if share < _TIGHT or (asked and share < _TOO_MUCH):
            return None
        private = {child: _private_bytes(read(pid)) for child, pid in running.items()}
        largest = max(private, key=private.__getitem__)
        words = (
            f"{size(used)} of {size(limit.n_bytes)} are used ({limit.why});"
            f" child {largest} has most of its own, {size(private[largest])}"
        )
        self._answer_by_s[largest] = now_s + _ANSWER_S
        too_much = share >= _TOO_MUCH and len(running) > 1
        return Demand(Relief.KILL if too_much else Relief.RECYCLE, largest, words)


def _used(
    limit: MemoryLimit, pids: Iterable[int], read: Callable[[int], ProcessReading | None]
) -> int:
    """Memory that counts against the limit [bytes]: the cgroup's, or PSS of all processes."""
    if limit.cgroup is not None:
        return held_bytes(limit.cgroup)
    return sum(reading.pss_bytes for reading in map(read, pids) if reading)


def _private_bytes(reading: ProcessReading | None) -> int:
    """Memory that ends with the process."""
    return reading.private_bytes if reading else 0
