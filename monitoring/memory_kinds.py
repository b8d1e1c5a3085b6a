"""Memory of processes by what their addresses are used for, from /proc/PID/smaps. Reading it takes
milliseconds and holds locks of the process: it is done at few moments, and only if requested."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path, PurePath
from string import ascii_uppercase

from msgspec import Struct, to_builtins

from forkrun.base.json_lines import JsonLines
from forkrun.monitoring.process_reading import KIB, PAGE, PROC
from forkrun.rundir.directory import RunDirectory

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
