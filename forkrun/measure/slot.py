"""The cores and the memory that this process may use: those of the machine, less what affinity, a
control group or a batch system leave of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
CGROUPS = Path("/sys/fs/cgroup")
MB = 1 << 20  # Slurm's
# cgroup v1 writes the largest number there is for "no limit".
_NO_LIMIT = 1 << 60


@dataclass(frozen=True)
class Limit:
    """An upper limit: cores (may be a fraction) or bytes, and whose it is."""

    value: float
    source: str


@dataclass(frozen=True)
class Slot:
    """The smallest limits, and all that were found."""

    cores: Limit
    memory: Limit
    all_cores: tuple[Limit, ...]
    all_memory: tuple[Limit, ...]

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
    """Of this process; `cores` and `memory_bytes` replace what was found. The roots of /proc and of
    the control groups are arguments, so that tests read recorded ones."""
    words = os.environ if environment is None else environment
    n_cores = [Limit(len(os.sched_getaffinity(0)), "CPUs that this process may run on")]
    n_cores += [*_slurm_cores(words), *_cgroup_cores(proc, cgroups)]
    memory = [*_machine_memory(proc), *_slurm_memory(words), *_cgroup_memory(proc, cgroups)]
    return Slot(
        _asked(cores) or min(n_cores, key=lambda limit: limit.value),
        _asked(memory_bytes) or min(memory, key=lambda limit: limit.value),
        tuple(n_cores),
        tuple(memory),
    )


def available_memory_bytes(proc: Path = PROC, cgroups: Path = CGROUPS) -> int | None:
    """What is left for new memory, of the machine and of the control group; None: not known."""
    left = [kib * 1024 for kib in [_meminfo(proc).get("MemAvailable")] if kib is not None]
    for limit, usage in _memory_controls(proc, cgroups):
        if limit < _NO_LIMIT:
            left.append(max(limit - usage, 0))
    return min(left, default=None)


def _asked(value: float | None) -> Limit | None:
    return None if value is None else Limit(value, "asked for")


def _machine_memory(proc: Path) -> Iterator[Limit]:
    total = _meminfo(proc).get("MemTotal")
    if total:
        yield Limit(total * 1024, "memory of the machine")


def _slurm_cores(environment: Mapping[str, str]) -> Iterator[Limit]:
    for name in ("SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE"):
        if environment.get(name, "").isdigit():
            yield Limit(int(environment[name]), name)
            return  # The job's own task counts, not all of its node.


def _slurm_memory(environment: Mapping[str, str]) -> Iterator[Limit]:
    """In MB; 0 is all of the node."""
    per_node = environment.get("SLURM_MEM_PER_NODE", "")
    per_cpu = environment.get("SLURM_MEM_PER_CPU", "")
    if per_node.isdigit() and int(per_node):
        yield Limit(int(per_node) * MB, "SLURM_MEM_PER_NODE")
    elif per_cpu.isdigit() and int(per_cpu):
        for cores in _slurm_cores(environment):
            value = int(per_cpu) * MB * cores.value
            yield Limit(value, f"SLURM_MEM_PER_CPU × {cores.source}")


def _cgroup_cores(proc: Path, cgroups: Path) -> Iterator[Limit]:
    """CPU time per period: v2 `cpu.max`, v1 `cpu.cfs_quota_us`."""
    for folder in _folders(proc, cgroups, ""):
        words = _text(folder / "cpu.max").split()
        if len(words) == 2 and words[0].isdigit():
            yield Limit(int(words[0]) / int(words[1]), f"{folder}/cpu.max")
    for folder in _folders(proc, cgroups, "cpu"):
        quota, period = (_number(folder / f"cpu.cfs_{name}_us") for name in ("quota", "period"))
        if quota and period and quota > 0:
            yield Limit(quota / period, f"{folder}/cpu.cfs_quota_us")


def _cgroup_memory(proc: Path, cgroups: Path) -> Iterator[Limit]:
    for controller, name in (("", "memory.max"), ("memory", "memory.limit_in_bytes")):
        for folder in _folders(proc, cgroups, controller):
            limit = _number(folder / name)
            if limit is not None and limit < _NO_LIMIT:
                yield Limit(limit, f"{folder}/{name}")


def _memory_controls(proc: Path, cgroups: Path) -> Iterator[tuple[int, int]]:
    """Limit and usage of every control group above this process."""
    names = (
        ("", "memory.max", "memory.current"),
        ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    )
    for controller, limit, usage in names:
        for folder in _folders(proc, cgroups, controller):
            both = _number(folder / limit), _number(folder / usage)
            if both[0] is not None and both[1] is not None:
                yield both[0], both[1]


def _folders(proc: Path, cgroups: Path, controller: str) -> Iterator[Path]:
    """The control group of this process and all above it, of a v1 controller or ("") of v2. In a
    container its path may be that of the host, which is not there: then the root counts."""
    for line in _text(proc / "self" / "cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            root = cgroups / controller if controller else _unified(cgroups)
            own = root / path.lstrip("/")
            yield own
            yield from (p for p in own.parents if p == root or root in p.parents)


def _unified(cgroups: Path) -> Path:
    """v2 beside v1 is in a folder of its own."""
    beside = cgroups / "unified"
    return beside if beside.is_dir() else cgroups


def _meminfo(proc: Path) -> dict[str, int]:
    """In KiB."""
    pairs = (line.partition(":") for line in _text(proc / "meminfo").splitlines())
    return {name: int(value.split()[0]) for name, _, value in pairs if value.strip()}


def _number(path: Path) -> int | None:
    text = _text(path).strip()
    return int(text) if text.lstrip("-").isdigit() else None


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
