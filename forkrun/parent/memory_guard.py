"""Watches the memory of a job before the kernel does.

Each tick compares the memory of all processes with the limit, by the kernel's counts of memory
gained (`JobMemory`). Writes to shared memory do not show there, but each such page is a fault:
where the faults since the last full reading could have brought the job to its limit, the processes
with most of them are read in full again. The cost of checks is limited in CPU time, so a busy
machine does not make them rarer.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from enum import Enum, auto
from pathlib import Path

from msgspec import Struct

from forkrun.base.cgroups import CGROUPS, PROC, held_bytes, memory_limits
from forkrun.base.quantities import plural, size
from forkrun.monitoring.job_memory import JobMemory, total_bytes

_TIGHT = 0.90
_TOO_MUCH = 0.96
_NEAR = 0.75
_SHARE_OF_CPU = 0.01  # maximum for checks
_SHARE_WHEN_NEAR = 0.05  # the same for a job near its limit
_LONGEST_S = 0.1  # between two checks
_SHORTEST_S = 0.01
_CHECKS_UNTIL_FULL = 4  # at the latest rate of growth
_TO_KILL_S = 0.02
_LATE_S = 0.3  # maximum assumed delay of the next check, taken from that of the last one
_SLICE_S = 0.01  # of CPU time for full readings in one check
_ANSWER_S = 15.0  # for a child to end when asked, before the next one is asked
_STEP = 0.02  # of the limit: minimum gain that counts as growth
_STEPS_SEEN = 3  # in succession, required to confirm growth
_OF_ONE_CHILD = 0.25  # of a cgroup's limit: minimum memory for which the last child is blamed


class MemoryLimit(Struct, frozen=True):
    """`cgroup`: its folder; None for the job's own limit."""

    n_bytes: int
    why: str
    cgroup: Path | None = None


class Relief(Enum):
    """Ways to free memory."""

    RECYCLE = auto()
    KILL = auto()
    NONE = auto()
    """Not by a child: the parent alone has too much."""
    LATER = auto()
    """Not yet: memory grows with events towards the limit."""


class Demand(Struct, frozen=True):
    """The action needed, the child concerned, and the reason."""

    relief: Relief
    child: int
    words: str
    private_bytes: int
    """Memory freed at the end of the child."""
    per_event_bytes: float = 0.0
    """Memory added to the job by each event, for a warning about growth."""


def find_limit(own: int | None, proc: Path = PROC, cgroups: Path = CGROUPS) -> MemoryLimit | None:
    """The smaller of the job's own limit and that of its cgroups (version 2 or 1)."""
    groups = memory_limits(proc, cgroups)
    limits = [MemoryLimit(n_bytes, str(file), file.parent) for n_bytes, file in groups]
    if own is not None:
        limits.append(MemoryLimit(own, "limits.memory"))
    return min(limits, key=lambda limit: limit.n_bytes, default=None)


class Growth:
    """Records memory against events, in upward steps of `step_bytes`. Memory that is freed later,
    or was used before, does not count as growth."""

    def __init__(self, step_bytes: float) -> None:
        self._step_bytes = step_bytes
        self._steps: list[tuple[int, int]] = []
        self._highest = -math.inf
        self._is_higher = False

    def note(self, used: int, n_done: Callable[[], int]) -> None:
        """Records a step. `used`: current memory [bytes]; `n_done`: returns the events done."""
        self._is_higher = used >= self._highest + self._step_bytes
        self._highest = used if self._is_higher else self._highest
        while self._steps and self._steps[-1][1] > used:
            self._steps.pop()
        if not self._steps or used >= self._steps[-1][1] + self._step_bytes:
            n = n_done()
            while self._steps and self._steps[-1][0] >= n:  # events lost with a killed child
                self._steps.pop()
            self._steps.append((n, used))

    @property
    def per_event(self) -> float:
        """Bytes added by each event; 0 without growth. Ignores the last step, a possible peak."""
        if not self._is_higher or len(self._steps) <= _STEPS_SEEN:
            return 0.0
        (first, least), (last, most) = self._steps[-1 - _STEPS_SEEN], self._steps[-2]
        return (most - least) / (last - first)


class MemoryGuard:
    """Checks the memory of a job's processes, which `memory` follows."""

    def __init__(self, limit: MemoryLimit | None, memory: JobMemory) -> None:
        self._limit, self._memory = limit, memory
        self.check_at_s = 0.0
        self._read_at_s = 0.0
        self._last = (0.0, 0)
        """Time and memory of the last check."""
        self._answer_by_s: dict[int, float] = {}
        self._killed: dict[int, int] = {}
        """Killed children that have not ended yet, with their pids."""
        self.interval_s = _LONGEST_S
        """Time until the next check, in order not to miss the limit."""
        self._growth = Growth(_STEP * limit.n_bytes if limit else 0)
        self._has_warned = False

    def check(
        self, running: Mapping[int, int], n_done: Callable[[], int] = lambda: 0
    ) -> Demand | None:
        """The action needed now, if any. `running`: pids by child; `n_done`: returns the number of
        events done."""
        now_s = time.monotonic()
        if self._limit is None or now_s < self.check_at_s or not running:
            return None
        begin_s = time.thread_time()
        is_near = self._most_bytes(self._limit) > _NEAR * self._limit.n_bytes
        share = _SHARE_WHEN_NEAR if is_near else _SHARE_OF_CPU
        demand = self._judge(self._limit, running, now_s, n_done)
        is_fast = self.interval_s < _LONGEST_S
        self.check_at_s = now_s + (0.0 if is_fast else (time.thread_time() - begin_s) / share)
        if demand or is_fast or not is_near or now_s < self._read_at_s:
            return demand
        begin_s = time.thread_time()
        self._read_doubtful(self._limit)
        self._read_at_s = now_s + (time.thread_time() - begin_s) / share
        self._last = 0.0, 0
        return self._judge(self._limit, running, now_s, n_done)

    def _most_bytes(self, limit: MemoryLimit) -> int:
        """Upper limit of the memory that counts against the limit."""
        if limit.cgroup is not None:
            return held_bytes(limit.cgroup)
        return total_bytes(self._memory.estimate()) + sum(self._memory.doubts().values())

    def _read_doubtful(self, limit: MemoryLimit) -> None:
        """Reads processes in full while the uncertainty could bring the job to its limit. Pages
        copied by children may then belong to the parent alone."""
        end_s, is_read = time.thread_time() + _SLICE_S, False
        while self._most_bytes(limit) >= _TIGHT * limit.n_bytes and time.thread_time() < end_s:
            doubts = self._memory.doubts()
            if limit.cgroup is not None or not any(doubts.values()):
                break
            is_read = True
            self._memory.read(max(doubts, key=doubts.__getitem__))
        if is_read:
            self._memory.read(self._memory.processes[0])
            self._memory.note_in_common()

    def _judge(
        self,
        limit: MemoryLimit,
        running: Mapping[int, int],
        now_s: float,
        n_done: Callable[[], int],
    ) -> Demand | None:
        for child, _ in self._killed.items() - running.items():
            del self._killed[child]
        memory = self._memory.estimate()
        private = {
            child: memory[child, pid]["private_bytes"]
            for child, pid in running.items()
            if (child, pid) in memory
        }
        used = total_bytes(memory) if limit.cgroup is None else held_bytes(limit.cgroup)
        # The memory of killed children is about to be free.
        used -= sum(private.pop(child, 0) for child in self._killed)
        self._growth.note(used, n_done)
        share, is_too_much = used / limit.n_bytes, self._is_too_much(limit, used, now_s)
        asked = {c: t for c, t in self._answer_by_s.items() if c in running and t > now_s}
        self._answer_by_s = asked
        if not private or (not is_too_much and (share < _TIGHT or asked)):
            return self._warning(limit, used, private)
        largest = max(private, key=private.__getitem__)
        self._answer_by_s[largest] = now_s + _ANSWER_S
        words = (
            f"{size(used)} of {size(limit.n_bytes)} are used ({limit.why});"
            f" child {largest} has most of its own, {size(private[largest])}"
        )
        relief = self._relief(limit, used, private) if is_too_much else Relief.RECYCLE
        if relief is Relief.KILL:
            self._killed[largest] = running[largest]
        return Demand(relief, largest, words, private[largest])

    def _warning(self, limit: MemoryLimit, used: int, private: Mapping[int, int]) -> Demand | None:
        """Warns once that the limit is near, if memory grows with events."""
        grows = self._growth.per_event
        if self._has_warned or not private or not grows or used < _NEAR * limit.n_bytes:
            return None
        self._has_warned = True
        n_left = round((limit.n_bytes - used) / grows)
        largest = max(private, key=private.__getitem__)
        words = (
            f"{size(used)} of {size(limit.n_bytes)} are used ({limit.why}), which"
            f" {plural(n_left, 'more event')} will fill: each adds {size(grows)}"
        )
        return Demand(Relief.LATER, largest, words, private[largest], grows)

    def _is_too_much(self, limit: MemoryLimit, used: int, now_s: float) -> bool:
        """Whether the limit is reached, or will be before the next check at the recent rate, which
        also sets the time of that check."""
        last_s, last = self._last
        self._last = now_s, used
        took_s = max(now_s - last_s, 1e-3)
        rate = max(used - last, 0) / took_s if last else 0.0
        left_s = (limit.n_bytes - used) / rate if rate else math.inf
        self.interval_s = min(max(left_s / _CHECKS_UNTIL_FULL, _SHORTEST_S), _LONGEST_S)
        next_s = max(self.interval_s, min(took_s, _LATE_S)) + _TO_KILL_S
        is_near = used >= _NEAR * limit.n_bytes
        return used >= _TOO_MUCH * limit.n_bytes or (is_near and left_s < next_s)

    def _relief(self, limit: MemoryLimit, used: int, private: Mapping[int, int]) -> Relief:
        """Kill or restart. In a cgroup others may use memory: the last child must be to blame."""
        most = max(private.values())
        if limit.cgroup is not None:
            is_to_blame = len(private) > 1 or most >= _OF_ONE_CHILD * limit.n_bytes
            return Relief.KILL if is_to_blame else Relief.RECYCLE
        parent_alone = used - sum(private.values()) >= _TOO_MUCH * limit.n_bytes
        return Relief.NONE if parent_alone else Relief.KILL
