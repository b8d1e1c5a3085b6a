"""What is known of the memory of a job's processes, at any time.

Which of its pages a process shares follows from its page table alone: a **full reading** takes 1 to
5 ms, and 10 to 20 ms per GB. How many pages it has, the kernel counts: that takes 20 µs. So each
process is read in full now and then, and what it has now is its last full reading and what it has
gained or lost since: new memory of a process is its own. All processes are estimated in one go, in
milliseconds, so that these values belong together whenever children begin or end. What an estimate
does not show is memory that was shared and is written to later; the next full reading does.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct

from forkrun.monitoring.process_reading import (
    MAX_STOP_S,
    PAGE,
    PROC,
    ProcessReader,
    ProcessReading,
    Resident,
)

Process = tuple[int | None, int]
"""Number of a child, None for the parent, and its pid."""


class Known(Struct, frozen=True):
    """A full reading, what was resident then, how many processes the job had, and how many pages
    it had been given. None: not read yet; then `resident` is from its beginning."""

    reading: ProcessReading | None
    resident: Resident
    n_processes: int
    n_faults: int = 0

    @property
    def part_of_shared(self) -> int:
        """Its part of what it shares."""
        return self.reading.pss_bytes - self.reading.private_bytes if self.reading else 0

    @property
    def in_common(self) -> int:
        """What all have in common, if they share it alike."""
        if self.reading is None:
            return self.resident.rss_bytes
        return min(self.part_of_shared * self.n_processes, self.reading.shared_bytes)

    def now(self, resident: Resident, part_of_shared: int) -> dict[str, Any]:
        """Memory as in a ProcessReading."""
        gained = resident.anonymous_bytes - self.resident.anonymous_bytes
        before = self.reading.private_bytes if self.reading else 0
        private = min(max(before + gained, 0), resident.rss_bytes)
        shared = resident.rss_bytes - private
        part = min(part_of_shared, shared)
        shared_anonymous = max(resident.anonymous_bytes - private, 0)
        return {
            "pss_bytes": private + part,
            "uss_bytes": private,
            "rss_bytes": resident.rss_bytes,
            "shared_bytes": shared,
            "private_bytes": private,
            "anonymous_bytes": resident.anonymous_bytes,
            "pss_anonymous_bytes": min(private, resident.anonymous_bytes)
            + part * shared_anonymous // max(shared, 1),
            "pss_is_exact": False,
        }


class JobMemory:
    """Memory of a parent and its children. The parent of the job tells who they are."""

    def __init__(self, parent_pid: int, proc: Path = PROC, max_stop_s: float = MAX_STOP_S) -> None:
        """`proc` is the root of the /proc tree, an argument so that tests read recorded ones."""
        self._parent_pid = parent_pid
        self._of_parent = ProcessReader(proc, max_stop_s=float("inf"))  # It waits for itself.
        self._reader = ProcessReader(proc, max_stop_s)
        self._children: dict[int, int] = {}
        self._known: dict[int, Known] = {}
        self._n_alive = 1
        self._in_common: int | None = None

    @property
    def processes(self) -> list[Process]:
        """The parent first."""
        return [(None, self._parent_pid), *self._children.items()]

    @property
    def longest_stop_s(self) -> float:
        """Longest time for which the memory of a child was locked."""
        return self._reader.longest_stop_s

    def add_child(self, child: int, pid: int) -> None:
        """Follows a new child, or the next process of the same number."""
        self.remove_child(child)
        self._children[child] = pid
        self._n_alive += 1
        if resident := self._reader.resident(pid):
            n_faults = self._reader.n_faults(pid)
            self._known[pid] = Known(None, resident, self._n_alive, n_faults)

    def remove_child(self, child: int) -> int:
        """Stops following a child; returns its pid, 0 if there was none."""
        pid = self._children.pop(child, 0)
        self._known.pop(pid, None)
        return pid

    def read(self, process: Process) -> ProcessReading | None:
        """Reads it in full; None if it has ended. It shares memory with those that were there at
        the last estimate."""
        child, pid = process
        n_processes = self._n_alive
        reader = self._of_parent if child is None else self._reader
        reading = reader.read(pid, n_processes)
        resident = reader.resident(pid)
        if resident is None or reading is None:
            return None
        n_faults = reader.n_faults(pid)
        self._known[pid] = Known(reading, resident, n_processes, n_faults)
        return reading

    def note_in_common(self) -> None:
        """Has estimates go by what the full readings say that all have in common: the sum of their
        parts, if all were read while the same processes were there."""
        known = [each for each in self._known.values() if each.reading]
        if known and all(each.n_processes == len(known) for each in known):
            self._in_common = sum(each.part_of_shared for each in known)
        elif known:
            self._in_common = sum(each.in_common for each in known) // len(known)

    def estimate(self) -> dict[Process, dict[str, Any]]:
        """Memory now, as in a ProcessReading, of all processes that have not ended."""
        found = {
            process: resident
            for process in self.processes
            if (resident := self._reader.resident(process[1]))
        }
        self._n_alive = n = max(len(found), 1)
        known = {
            process: self._known.setdefault(process[1], Known(None, resident, n))
            for process, resident in found.items()
        }
        in_common = self._in_common
        if in_common is None:
            in_common = max((each.in_common for each in known.values()), default=0)
        return {
            process: known[process].now(resident, in_common // n)
            for process, resident in found.items()
        }

    def doubts(self) -> dict[Process, int]:
        """What each process shared at its last full reading and may have copied since, at the most
        [bytes]: pages that it was given beyond what it has gained."""
        return {
            process: self._doubt(known, process[1])
            for process in self.processes
            if (known := self._known.get(process[1]))
        }

    def _doubt(self, known: Known, pid: int) -> int:
        resident = self._reader.resident(pid)
        if resident is None:
            return 0
        gained = max(resident.rss_bytes - known.resident.rss_bytes, 0)
        copied = (self._reader.n_faults(pid) - known.n_faults) * PAGE - gained
        reading = known.reading
        shared = (
            reading.anonymous_bytes - reading.private_bytes
            if reading
            else known.resident.anonymous_bytes
        )
        return max(min(copied, shared), 0)

    def readings(self) -> dict[Process, ProcessReading]:
        """The same with the CPU time and reads of each."""
        usage = {"cpu_user_s": 0.0, "cpu_system_s": 0.0, "read_calls": 0, "read_bytes": 0}
        return {
            process: ProcessReading(**memory, **{**usage, **self._reader.usage(process[1])})
            for process, memory in self.estimate().items()
        }


def total_bytes(memory: dict[Process, dict[str, Any]]) -> int:
    """PSS of all processes."""
    return sum(each["pss_bytes"] for each in memory.values())
