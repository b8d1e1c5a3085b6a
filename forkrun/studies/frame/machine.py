"""State of the machine: load by other programs, files in the page cache, and cores and memory of
this process within the limits of affinity, control groups and batch systems."""

from __future__ import annotations

import ctypes
import mmap
import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import psutil
from msgspec import Struct

from forkrun.base.cgroups import CGROUPS, PROC, core_limits, memory_limits, used_bytes
from forkrun.base.quantities import plural

_BEFORE_S = 0.5
_QUIET_SHARE = 0.05
"""Share of the CPUs, above the background load of an unused machine."""
_IDLE_FIELDS = (3, 4)  # of a line of /proc/stat: idle, iowait
_N_FIELDS = 8  # later fields count guest time again


class OtherLoad(Struct, frozen=True):
    """Mean number of CPUs used by other programs, of the `n_cpus` that this process may use."""

    before: float
    during: float
    n_cpus: int

    @property
    def is_quiet(self) -> bool:
        """Whether the measurement depends on forkrun and the machine alone."""
        return max(self.before, self.during) <= _QUIET_SHARE * self.n_cpus

    def __str__(self) -> str:
        return (
            f"other programs used {self.before:.2f} of {plural(self.n_cpus, 'CPU')} before it, and"
            f" {self.during:.2f} during it"
        )


class LoadWatch:
    """Watches the machine for half a second, and then until `end`. Children of this process do not
    count as others once they have ended and been waited for."""

    def __init__(self, proc: Path = PROC, before_s: float = _BEFORE_S) -> None:
        self._proc, self._cpus = proc, os.sched_getaffinity(0)
        self._begin()
        time.sleep(before_s)
        self._before = self._others()
        self._begin()

    def end(self) -> OtherLoad:
        """Returns the load of other programs up to now."""
        return OtherLoad(self._before, self._others(), len(self._cpus))

    def _begin(self) -> None:
        self._start_s, self._busy_s, self._own_s = time.monotonic(), self._busy(), own_cpu_s()

    def _others(self) -> float:
        elapsed_s = max(time.monotonic() - self._start_s, 1e-9)
        others_s = self._busy() - self._busy_s - (own_cpu_s() - self._own_s)
        return max(others_s, 0.0) / elapsed_s

    def _busy(self) -> float:
        return busy_s((self._proc / "stat").read_text(), self._cpus)


def busy_s(stat: str, cpus: Collection[int]) -> float:
    """CPU time [s] spent by these CPUs since the machine started, from the text of /proc/stat;
    includes time taken by a hypervisor."""
    ticks = 0
    for line in stat.splitlines():
        name, *fields = line.split()
        if name.startswith("cpu") and name[3:].isdecimal() and int(name[3:]) in cpus:
            numbers = [int(field) for field in fields[:_N_FIELDS]]
            ticks += sum(numbers) - sum(numbers[i] for i in _IDLE_FIELDS)
    return ticks / os.sysconf("SC_CLK_TCK")


def own_cpu_s() -> float:
    """CPU time of this process and of its children that were waited for [s]."""
    return sum(os.times()[:4])


COLD_SHARE = 0.02
"""Maximum share in memory of files that count as cold."""


def drop_from_cache(files: Sequence[Path]) -> float:
    """Asks the kernel to drop these files; returns the share of their bytes still in memory: other
    programs use them, or the file system ignores the request."""
    for file in files:
        with file.open("rb") as opened:
            os.fsync(opened.fileno())  # pages not yet on disk stay
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return cached_share(files)


def warm_cache(files: Sequence[Path]) -> None:
    """Reads all files."""
    for file in files:
        with file.open("rb") as opened:
            while opened.read(1 << 22):
                pass


def cached_share(files: Sequence[Path]) -> float:
    """Share of these files' pages that is in memory."""
    counts = [_resident_pages(file) for file in files]
    n_pages = sum(n for _, n in counts)
    return sum(n for n, _ in counts) / n_pages if n_pages else 0.0


def _resident_pages(file: Path) -> tuple[int, int]:
    """Pages in memory, and all pages, according to mincore(2)."""
    n_bytes = file.stat().st_size
    n_pages = -(-n_bytes // mmap.PAGESIZE)
    if not n_pages:
        return 0, 0
    flags = bytearray(n_pages)
    # A private mapping is writable, as ctypes requires to get its address; it is never written.
    with file.open("rb") as opened:
        mapped = mmap.mmap(opened.fileno(), n_bytes, access=mmap.ACCESS_COPY)
    try:
        place = ctypes.c_char.from_buffer(mapped)
        into = (ctypes.c_ubyte * n_pages).from_buffer(flags)
        mincore = ctypes.CDLL(None, use_errno=True).mincore
        if mincore(ctypes.c_void_p(ctypes.addressof(place)), ctypes.c_size_t(n_bytes), into):
            raise OSError(ctypes.get_errno(), "mincore")
        del place, into
    finally:
        mapped.close()
    return sum(flag & 1 for flag in flags), n_pages


MB = 1 << 20  # as in Slurm


class Limit(Struct, frozen=True):
    """An upper limit: cores (may be a fraction) or bytes, and its source."""

    value: float
    source: str


class Slot(Struct, frozen=True):
    """The smallest limits."""

    cores: Limit
    memory: Limit

    @property
    def n_cores(self) -> int:
        """Whole cores, at least one."""
        return max(int(self.cores.value), 1)


def find_slot(
    *,
    cores: float | None = None,
    memory_bytes: float | None = None,
    environment: Mapping[str, str] | None = None,
    proc: Path = PROC,
    cgroups: Path = CGROUPS,
) -> Slot:
    """Slot of this process; `cores` and `memory_bytes` override the limits found. The roots of
    /proc and of the control groups are arguments, so that tests read recorded ones."""
    words = os.environ if environment is None else environment
    n_cores = [Limit(len(os.sched_getaffinity(0)), "CPUs that this process may run on")]
    n_cores += [*_slurm_cores(words), *_of_groups(core_limits(proc, cgroups))]
    memory = [Limit(psutil.virtual_memory().total, "memory of the machine")]
    memory += _slurm_memory(words)
    memory += _of_groups(memory_limits(proc, cgroups))
    return Slot(
        _asked(cores) or min(n_cores, key=lambda limit: limit.value),
        _asked(memory_bytes) or min(memory, key=lambda limit: limit.value),
    )


def available_memory_bytes(proc: Path = PROC, cgroups: Path = CGROUPS) -> int:
    """Memory available for allocation, on the machine and in the control group."""
    left: list[int] = [psutil.virtual_memory().available]
    for limit, file in memory_limits(proc, cgroups):
        used = used_bytes(file.parent)
        if used is not None:
            left.append(max(limit - used, 0))
    return min(left)


def _asked(value: float | None) -> Limit | None:
    return None if value is None else Limit(value, "asked for")


def _slurm_cores(environment: Mapping[str, str]) -> Iterator[Limit]:
    for name in ("SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE"):
        if environment.get(name, "").isdigit():
            yield Limit(int(environment[name]), name)
            return  # Only the job's own task counts, not its whole node.


def _slurm_memory(environment: Mapping[str, str]) -> Iterator[Limit]:
    """Memory limits of Slurm, given in MB; 0 means the whole node."""
    per_node = environment.get("SLURM_MEM_PER_NODE", "")
    per_cpu = environment.get("SLURM_MEM_PER_CPU", "")
    if per_node.isdigit() and int(per_node):
        yield Limit(int(per_node) * MB, "SLURM_MEM_PER_NODE")
    elif per_cpu.isdigit() and int(per_cpu):
        for cores in _slurm_cores(environment):
            value = int(per_cpu) * MB * cores.value
            yield Limit(value, f"SLURM_MEM_PER_CPU × {cores.source}")


def _of_groups(limits: Iterable[tuple[float, Path]]) -> Iterator[Limit]:
    return (Limit(value, str(file)) for value, file in limits)
