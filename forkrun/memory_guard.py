"""Watches the memory of a job before the kernel does."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from forkrun.cgroups import CGROUPS, PROC, held_bytes, memory_limits

_TIGHT = 0.90
_TOO_MUCH = 0.96
_LOOK_EVERY_S = 1.0
_SHARE_OF_TIME = 0.005  # of the parent's time, for looking
_ANSWER_S = 15.0  # that a child which was asked to end has, before the next one is asked


@dataclass(frozen=True)
class MemoryLimit:
    """`cgroup`: its folder; None for a limit of the job's own."""

    n_bytes: int
    why: str
    cgroup: Path | None = None


class Relief(Enum):
    """What makes memory free."""

    RECYCLE = auto()
    KILL = auto()


@dataclass(frozen=True)
class Demand:
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
    """`look` at the processes of a job, pids by child and the parent's own."""

    def __init__(self, limit: MemoryLimit | None, parent: int) -> None:
        self._limit = limit
        self._parent = parent
        self._look_at_s = 0.0
        self._answer_by_s: dict[int, float] = {}

    def look(self, running: Mapping[int, int]) -> Demand | None:
        """What has to be done now, if anything."""
        start_s = time.monotonic()
        if self._limit is None or start_s < self._look_at_s or not running:
            return None
        used = self._used(running)
        demand = self._judge(used, running, start_s)
        end_s = time.monotonic()
        self._look_at_s = end_s + max(_LOOK_EVERY_S, (end_s - start_s) / _SHARE_OF_TIME)
        return demand

    def _used(self, running: Mapping[int, int]) -> int:
        assert self._limit is not None
        if self._limit.cgroup is not None:
            return held_bytes(self._limit.cgroup)
        return sum(smaps_bytes(pid, "Pss:") for pid in (self._parent, *running.values()))

    def _judge(self, used: int, running: Mapping[int, int], now_s: float) -> Demand | None:
        assert self._limit is not None
        share = used / self._limit.n_bytes
        asked = {c: t for c, t in self._answer_by_s.items() if c in running and t > now_s}
        self._answer_by_s = asked
        if share < _TIGHT or (asked and share < _TOO_MUCH):
            return None
        largest = max(running, key=lambda child: private_bytes(running[child]))
        words = (
            f"{used:,} of {self._limit.n_bytes:,} bytes are used ({self._limit.why});"
            f" child {largest} has most of its own, {private_bytes(running[largest]):,}"
        )
        self._answer_by_s[largest] = now_s + _ANSWER_S
        too_much = share >= _TOO_MUCH and len(running) > 1
        return Demand(Relief.KILL if too_much else Relief.RECYCLE, largest, words)


def private_bytes(pid: int) -> int:
    """Memory that ends with the process."""
    return smaps_bytes(pid, "Private_Clean:", "Private_Dirty:")


def smaps_bytes(pid: int, *names: str) -> int:
    """Sum of these fields of /proc/PID/smaps_rollup; 0 of a process that has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(names))
