"""Cores and memory available to this process: those of the machine, within the limits of affinity,
control groups and batch systems."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import psutil
from msgspec import Struct

from forkrun.base.cgroups import CGROUPS, PROC, core_limits, memory_limits, used_bytes

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
