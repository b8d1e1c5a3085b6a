"""Watches the memory of a job before the kernel does."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

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


def find_limit(own: int | None, root: Path = Path("/sys/fs/cgroup")) -> MemoryLimit | None:
    """The smaller of the job's own limit and that of its cgroups (version 2 or 1)."""
    limits = list(_cgroup_limits(root))
    if own is not None:
        limits.append(MemoryLimit(own, "limits.memory"))
    return min(limits, key=lambda limit: limit.n_bytes, default=None)


def _cgroup_limits(root: Path) -> Iterator[MemoryLimit]:
    for folder, file in _cgroup_files(root):
        text = _read(folder / file).strip()
        if text.isdecimal() and int(text) < 1 << 60:
            yield MemoryLimit(int(text), f"{folder / file}", folder)


def _cgroup_files(root: Path) -> Iterator[tuple[Path, str]]:
    for line in _read(Path("/proc/self/cgroup")).splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:
            top, file = root, "memory.max"
        elif "memory" in controllers.split(","):
            top, file = root / "memory", "memory.limit_in_bytes"
        else:
            continue
        folder = top / path.lstrip("/")
        if not folder.is_dir():  # in a container: its own group is the root
            folder = top
        yield from ((f, file) for f in (folder, *folder.parents) if f.is_relative_to(top))


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


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
            return cgroup_used_bytes(self._limit.cgroup)
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


def cgroup_used_bytes(folder: Path) -> int:
    """What a cgroup cannot give back: without the page cache."""
    fields = dict(line.split() for line in _read(folder / "memory.stat").splitlines())
    current = _read(folder / "memory.current") or _read(folder / "memory.usage_in_bytes")
    cache = int(fields.get("file", fields.get("total_cache", 0)))
    shared = int(fields.get("shmem", fields.get("total_shmem", 0)))
    return int(current or 0) - cache + shared


def private_bytes(pid: int) -> int:
    """Memory that ends with the process."""
    return smaps_bytes(pid, "Private_Clean:", "Private_Dirty:")


def smaps_bytes(pid: int, *names: str) -> int:
    """Sum of these fields of /proc/PID/smaps_rollup; 0 of a process that has ended."""
    lines = _read(Path(f"/proc/{pid}/smaps_rollup")).splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(names))
