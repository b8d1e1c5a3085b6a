"""One look at a process through /proc: its memory, CPU time and reads."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
KIB = 1024


@dataclass(frozen=True)
class ProcessReading:
    """What /proc says about a process. Sizes in bytes, times in seconds since its start.

    `pss` counts a page shared by n processes as 1/n, so that PSS may be summed over processes;
    `uss` = `private` is what would be freed if the process ended; `shared` is the rest of `rss`.
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


def read_process(pid: int, proc: Path = PROC) -> ProcessReading | None:
    """Reads a process; None if it ended meanwhile (a zombie has no memory to look at)."""
    folder = f"{proc}/{pid}"
    try:
        memory = _parse_rollup(_read(f"{folder}/smaps_rollup"))
        user_s, system_s = _parse_stat(_read(f"{folder}/stat"))
        io = _parse_fields(_read(f"{folder}/io"))
        read_calls, read_bytes = io["syscr"], io["rchar"]
    except (OSError, LookupError, ValueError):
        return None
    private = _sum(memory, "Private_Clean", "Private_Dirty", "Private_Hugetlb")
    return ProcessReading(
        pss_bytes=memory["Pss"] * KIB,
        uss_bytes=private * KIB,
        rss_bytes=memory["Rss"] * KIB,
        shared_bytes=_sum(memory, "Shared_Clean", "Shared_Dirty", "Shared_Hugetlb") * KIB,
        private_bytes=private * KIB,
        cpu_user_s=user_s,
        cpu_system_s=system_s,
        read_calls=read_calls,
        read_bytes=read_bytes,
    )


def _read(path: str) -> str:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, 1 << 16).decode("ascii", "replace")
    finally:
        os.close(fd)


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
    """User and system time; the command's name may hold spaces and parentheses."""
    fields = text.rpartition(")")[2].split()
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    return int(fields[11]) / ticks_per_s, int(fields[12]) / ticks_per_s


def _sum(fields: dict[str, int], *names: str) -> int:
    return sum(fields.get(name, 0) for name in names)
