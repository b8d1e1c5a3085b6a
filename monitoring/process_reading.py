"""One sample of a process from /proc: its memory, CPU time and reads."""

from __future__ import annotations

import math
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from forkrun import _core

PROC = Path("/proc")
KIB = 1024
# A slow machine needs 25 ms per GB; small processes tell little about large ones.
SLOW_ROLLUP_S_PER_BYTE = 25e-12
LARGE_BYTES = 32 << 20
MAX_STOP_S = 0.004
PAGE = os.sysconf("SC_PAGE_SIZE")


class ProcessReading(Struct, frozen=True):
    """Figures of a process in /proc. Sizes in bytes, times in seconds since its start.

    `pss` counts a page shared by n processes as 1/n, so that PSS may be summed over processes;
    `uss` = `private` would be freed if the process ended; `shared` is the rest of `rss`.
    `read_calls` and `read_bytes` count every read call, also those served from the page cache.
    """

    pss_bytes: int
    uss_bytes: int
    rss_bytes: int
    shared_bytes: int
    private_bytes: int
    cpu_user_s: float
    cpu_system_s: float
    read_calls: int
    read_bytes: int
    anonymous_bytes: int = 0
    """Part of `rss` without pages of files."""
    pss_anonymous_bytes: int = 0
    """Part of `pss` without pages of files: independent of other programs on the machine that map
    the same libraries."""
    pss_is_exact: bool = True
    """False: processes of the job are assumed to have equal parts of their shared memory."""
    most_rss_bytes: int = 0
    """Highest RSS of the process ever; 0: unknown."""


class Resident(NamedTuple):
    """Counts that the kernel keeps up to date, so that reading them costs 20 µs for any size: pages
    of no file, shared with other processes or not, and pages of files [bytes]."""

    anonymous_bytes: int
    files_bytes: int

    @property
    def rss_bytes(self) -> int:
        return self.anonymous_bytes + self.files_bytes


class ProcessReader:
    """Reads processes without stopping any of them for longer than `max_stop_s`. While the kernel
    adds up `smaps_rollup`, the process waits if it maps or unmaps memory: for a time that grows
    with its memory. If that would take too long, the page table is read piece by piece; it gives
    all but PSS. `longest_stop_s`: the longest time for which a child's memory was locked so far; a
    reader that waits for a CPU on a busy machine may lock it longer."""

    def __init__(self, proc: Path = PROC, max_stop_s: float = MAX_STOP_S) -> None:
        """`proc`: root of the /proc tree; tests use recorded ones."""
        self._proc = proc
        self._max_stop_s = max_stop_s
        self._rollup_s_per_byte = SLOW_ROLLUP_S_PER_BYTE
        self.longest_stop_s = 0.0

    def read(self, pid: int, n_processes: int = 1) -> ProcessReading | None:
        """Reads a process; returns None if it has ended (a zombie has no memory). `n_processes`:
        number of processes in the job, for the shares of shared memory."""
        folder = f"{self._proc}/{pid}"
        try:
            if self._rollup_s(folder) <= self._max_stop_s:
                memory = self._read_rollup(folder)
            else:
                memory = self._read_pages(pid, n_processes)
            most = _most_rss_bytes(_read(f"{folder}/status"))
            return ProcessReading(**memory, **_usage(folder), most_rss_bytes=most)
        except (OSError, LookupError, ValueError):
            return None

    def resident(self, pid: int) -> Resident | None:
        """Resident memory; None if the process has ended or is ending."""
        try:
            pages = _read(f"{self._proc}/{pid}/statm").split()
            rss, of_files = int(pages[1]), int(pages[2])
        except (OSError, LookupError, ValueError):
            return None
        return Resident((rss - of_files) * PAGE, of_files * PAGE) if rss else None

    def n_faults(self, pid: int) -> int:
        """Page faults so far, for new or copied pages; 0 if the process has ended."""
        try:
            return int(_read(f"{self._proc}/{pid}/stat").rpartition(")")[2].split()[7])
        except (OSError, LookupError, ValueError):
            return 0

    def usage(self, pid: int) -> dict[str, Any]:
        """CPU time and reads, in the form of a ProcessReading; empty if the process has ended."""
        try:
            return _usage(f"{self._proc}/{pid}")
        except (OSError, LookupError, ValueError):
            return {}

    def _rollup_s(self, folder: str) -> float:
        """Expected time to read `smaps_rollup`, from the slowest recent reading."""
        return _resident_bytes(_read(f"{folder}/stat")) * self._rollup_s_per_byte

    def _read_rollup(self, folder: str) -> dict[str, Any]:
        start_s = time.thread_time()
        text = _read(f"{folder}/smaps_rollup")
        stop_s = time.thread_time() - start_s
        memory = _memory_of(_parse_rollup(text))
        self.longest_stop_s = max(self.longest_stop_s, stop_s)
        if memory["rss_bytes"] > LARGE_BYTES:
            slow = stop_s / memory["rss_bytes"]
            self._rollup_s_per_byte = max(slow, 0.9 * self._rollup_s_per_byte)
        return memory

    def _read_pages(self, pid: int, n_processes: int) -> dict[str, Any]:
        pages = _core.count_pages(pid)
        self.longest_stop_s = max(self.longest_stop_s, 1e-9 * pages.longest_read_ns)
        self._rollup_s_per_byte = max(SLOW_ROLLUP_S_PER_BYTE, 0.9 * self._rollup_s_per_byte)
        shared = pages.resident - pages.resident_private
        return {
            "pss_bytes": pages.resident_private + shared // n_processes,
            "uss_bytes": pages.resident_private,
            "rss_bytes": pages.resident,
            "shared_bytes": shared,
            "private_bytes": pages.resident_private,
            "anonymous_bytes": pages.anonymous,
            "pss_anonymous_bytes": pages.anonymous_private
            + (pages.anonymous - pages.anonymous_private) // n_processes,
            "pss_is_exact": False,
        }


def read_process(pid: int, proc: Path = PROC) -> ProcessReading | None:
    """Reads a process with its exact PSS, however long that takes."""
    return ProcessReader(proc, math.inf).read(pid)


def _memory_of(fields: dict[str, int]) -> dict[str, Any]:
    anonymous = fields.get("Anonymous", 0)
    private = _sum(fields, "Private_Clean", "Private_Dirty", "Private_Hugetlb")
    return {
        "pss_bytes": fields["Pss"] * KIB,
        "uss_bytes": private * KIB,
        "rss_bytes": fields["Rss"] * KIB,
        "shared_bytes": _sum(fields, "Shared_Clean", "Shared_Dirty", "Shared_Hugetlb") * KIB,
        "private_bytes": private * KIB,
        "anonymous_bytes": anonymous * KIB,
        # Since Linux 5.3; else PSS, limited by all anonymous memory.
        "pss_anonymous_bytes": fields.get("Pss_Anon", min(fields["Pss"], anonymous)) * KIB,
    }


def _usage(folder: str) -> dict[str, Any]:
    user_s, system_s = _parse_stat(_read(f"{folder}/stat"))
    calls, n_bytes = _reads(folder)
    return {
        "cpu_user_s": user_s,
        "cpu_system_s": system_s,
        "read_calls": calls,
        "read_bytes": n_bytes,
    }


def _most_rss_bytes(status: str) -> int:
    fields = (line.partition(":") for line in status.splitlines() if line.startswith("VmHWM:"))
    return next((int(value.split()[0]) * KIB for _, _, value in fields), 0)


def _read(path: str) -> str:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, 1 << 16).decode("ascii", "replace")
    finally:
        os.close(fd)


def _reads(folder: str) -> tuple[int, int]:
    """Read calls and bytes; 0 if the kernel does not count them."""
    try:
        fields = _parse_fields(_read(f"{folder}/io"))
    except OSError:
        return 0, 0
    return fields["syscr"], fields["rchar"]


def _parse_rollup(text: str) -> dict[str, int]:
    """Fields of smaps_rollup [KiB]; its first line is an address range."""
    fields = _parse_fields(text.partition("\n")[2])
    if "Pss" not in fields or "Rss" not in fields:
        raise LookupError("no memory")
    return fields


def _parse_fields(text: str) -> dict[str, int]:
    lines = (line.partition(":") for line in text.splitlines())
    return {name: int(value.split()[0]) for name, _, value in lines if value}


def _parse_stat(text: str) -> tuple[float, float]:
    """User and system time; the command's name may contain spaces and parentheses."""
    fields = text.rpartition(")")[2].split()
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    return int(fields[11]) / ticks_per_s, int(fields[12]) / ticks_per_s


def _resident_bytes(stat: str) -> int:
    return int(stat.rpartition(")")[2].split()[21]) * PAGE


def _sum(fields: dict[str, int], *names: str) -> int:
    return sum(fields.get(name, 0) for name in names)
