"""Memory of a job's processes at any time.

The shared pages of a process follow from its page table alone: a **full reading** takes 1 to 5 ms,
and 10 to 20 ms per GB. The kernel counts all pages: reading that number takes 20 µs. So each
process is read in full now and then; its memory now is estimated from its last full reading and its
gains and losses since: new memory is private. All processes are estimated in one go, in
milliseconds, so that the values are consistent even while children begin or end. An estimate misses
shared memory that is written to later; the next full reading corrects it.

Kinds of memory, by what addresses are used for, are in /proc/PID/smaps. Reading it takes
milliseconds and holds locks of the process: it is done at few moments, and only if requested."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path, PurePath
from string import ascii_uppercase
from typing import Any

from msgspec import Struct, to_builtins

from forkrun.base.json_lines import JsonLines
from forkrun.monitoring.process_reading import (
    KIB,
    MAX_STOP_S,
    PAGE,
    PROC,
    ProcessReader,
    ProcessReading,
    Resident,
)
from forkrun.rundir.directory import RunDirectory

Process = tuple[int | None, int]
"""Number of a child, None for the parent, and its pid."""


class Known(Struct, frozen=True):
    """A full reading, with the resident memory, the number of processes in the job and the number
    of page faults at that time. `reading` None: not read yet; then `resident` is from the process's
    beginning."""

    reading: ProcessReading | None
    resident: Resident
    n_processes: int
    n_faults: int = 0

    @property
    def part_of_shared(self) -> int:
        """The process's share of its shared memory, in PSS."""
        return self.reading.pss_bytes - self.reading.private_bytes if self.reading else 0

    @property
    def in_common(self) -> int:
        """Memory common to all processes, if they share it evenly."""
        if self.reading is None:
            return self.resident.rss_bytes
        return min(self.part_of_shared * self.n_processes, self.reading.shared_bytes)

    def now(self, resident: Resident, part_of_shared: int) -> dict[str, Any]:
        """Current memory, in the form of a ProcessReading."""
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
    """Memory of a parent and its children, which the job's parent adds and removes."""

    def __init__(self, parent_pid: int, proc: Path = PROC, max_stop_s: float = MAX_STOP_S) -> None:
        """`proc`: root of the /proc tree; tests use recorded ones."""
        self._parent_pid = parent_pid
        self._of_parent = ProcessReader(proc, max_stop_s=float("inf"))  # It only stops itself.
        self._reader = ProcessReader(proc, max_stop_s)
        self._children: dict[int, int] = {}
        self._known: dict[int, Known] = {}
        self._n_alive = 1
        self._in_common: int | None = None

    @property
    def processes(self) -> list[Process]:
        """All processes, the parent first."""
        return [(None, self._parent_pid), *self._children.items()]

    @property
    def longest_stop_s(self) -> float:
        """Longest time for which the memory of a child was locked."""
        return self._reader.longest_stop_s

    def add_child(self, child: int, pid: int) -> None:
        """Follows a new child, or a new process with the same number."""
        self.remove_child(child)
        self._children[child] = pid
        self._n_alive += 1
        if resident := self._reader.resident(pid):
            n_faults = self._reader.n_faults(pid)
            self._known[pid] = Known(None, resident, self._n_alive, n_faults)

    def remove_child(self, child: int) -> int:
        """Stops following a child; returns its pid, 0 if it was not followed."""
        pid = self._children.pop(child, 0)
        self._known.pop(pid, None)
        return pid

    def read(self, process: Process) -> ProcessReading | None:
        """Reads a process in full; returns None if it has ended. It is assumed to share memory with
        the processes present at the last estimate."""
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
        """Updates the common memory used in estimates from the full readings: the sum of the
        shares, if the set of processes was the same in all readings."""
        known = [each for each in self._known.values() if each.reading]
        if known and all(each.n_processes == len(known) for each in known):
            self._in_common = sum(each.part_of_shared for each in known)
        elif known:
            self._in_common = sum(each.in_common for each in known) // len(known)

    def estimate(self) -> dict[Process, dict[str, Any]]:
        """Current memory of all live processes, in the form of a ProcessReading."""
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
        """Upper limits on the memory that each process shared at its last full reading and has
        copied since [bytes]: pages given to it beyond its gain."""
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
        """Estimated memory, CPU time and reads of each process."""
        usage = {"cpu_user_s": 0.0, "cpu_system_s": 0.0, "read_calls": 0, "read_bytes": 0}
        return {
            process: ProcessReading(**memory, **{**usage, **self._reader.usage(process[1])})
            for process, memory in self.estimate().items()
        }


def total_bytes(memory: dict[Process, dict[str, Any]]) -> int:
    """PSS of all processes."""
    return sum(each["pss_bytes"] for each in memory.values())


HEAP = "glibc heap"
STACK = "stack"
ANONYMOUS = "anonymous mapping"
OTHER = "other"
OF_FILE = "data of "
FILES = "code and data of libraries"


class Moment(StrEnum):
    """When the memory of a process was read. PEAK: the highest sum of all processes."""

    START = "after the fork"
    PEAK = "at the peak"
    END = "at the end"


class MappedRange(Struct):
    """Addresses [start, end) and their use; resident bytes that no other process maps, or that
    several do; 0 where these are unknown."""

    start: int
    end: int
    where: str
    private_bytes: int = 0
    shared_bytes: int = 0


def parse_maps(lines: Iterable[str]) -> list[MappedRange]:
    """Mapped ranges in the lines of /proc/PID/maps or smaps."""
    ranges: list[MappedRange] = []
    is_guard = False
    for line in lines:
        if line.startswith("Private_"):
            ranges[-1].private_bytes += int(line.split()[1]) * KIB
        elif line.startswith("Shared_"):
            ranges[-1].shared_bytes += int(line.split()[1]) * KIB
        elif line[0] not in _FIELDS:
            fields = line.rstrip().split(maxsplit=5)
            start, end = (int(address, 16) for address in fields[0].split("-"))
            where = _where(fields[5] if len(fields) > 5 else "")
            # A thread's stack is an anonymous mapping above a page that must not be touched.
            if is_guard and where == ANONYMOUS and ranges[-1].end == start:
                where = STACK
            is_guard = fields[1].startswith("---") and end - start == PAGE
            ranges.append(MappedRange(start, end, where))
    return ranges


_FIELDS = frozenset(ascii_uppercase)
"""First letters of fields; addresses begin with a digit or a small letter."""


def _where(path: str) -> str:
    if path == "[heap]":
        return HEAP
    if path.startswith("[stack"):
        return STACK
    if not path or path.startswith("[anon"):
        return ANONYMOUS
    if path.startswith(("[", "/dev/", "/memfd:", "/SYSV")):
        return OTHER
    return f"{OF_FILE}{PurePath(path.removesuffix(' (deleted)')).name}"


class MemoryKinds(Struct, frozen=True):
    """Memory of a process at a moment: by use of its addresses, private and shared bytes. `child`:
    None for the parent; `time_s` since the epoch."""

    moment: Moment
    time_s: float
    child: int | None
    pid: int
    kinds: Mapping[str, tuple[int, int]]


def read_kinds(
    moment: Moment, child: int | None, pid: int, proc: Path = PROC
) -> Iterator[MemoryKinds]:
    """Reads a process; nothing if it has ended."""
    try:
        with (proc / str(pid) / "smaps").open(errors="replace") as lines:
            ranges = parse_maps(lines)
    except OSError:
        return
    kinds = {kind: [0, 0] for kind in (HEAP, ANONYMOUS, STACK, FILES, OTHER)}
    for each in ranges:
        found = kinds[FILES if each.where.startswith(OF_FILE) else each.where]
        found[0] += each.private_bytes
        found[1] += each.shared_bytes
    yield MemoryKinds(moment, time.time(), child, pid, {k: (a, b) for k, (a, b) in kinds.items()})


def note_kinds(run_dir: Path, found: Iterable[MemoryKinds]) -> None:
    """Appends lines to the run's file: one short append needs no lock."""
    with JsonLines(RunDirectory(run_dir).memory_kinds) as lines:
        lines.append(to_builtins(each) for each in found)
