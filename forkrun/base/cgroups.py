"""Control groups of this process, of version 1 and 2: limits and usage."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

PROC = Path("/proc")
CGROUPS = Path("/sys/fs/cgroup")
# Version 1 writes the largest number there is for "no limit".
_NO_LIMIT = 1 << 60


def core_limits(proc: Path = PROC, cgroups: Path = CGROUPS) -> Iterator[tuple[float, Path]]:
    """CPU time per real time of each group with a limit, and the file with the limit. The roots of
    /proc and of the control groups are arguments: tests read recorded ones."""
    for folder in _groups(proc, cgroups, ""):
        words = _text(folder / "cpu.max").split()
        if len(words) == 2 and words[0].isdigit():
            yield int(words[0]) / int(words[1]), folder / "cpu.max"
    for folder in _groups(proc, cgroups, "cpu"):
        quota, period = (_number(folder / f"cpu.cfs_{name}_us") for name in ("quota", "period"))
        if quota and period and quota > 0:
            yield quota / period, folder / "cpu.cfs_quota_us"


def memory_limits(proc: Path = PROC, cgroups: Path = CGROUPS) -> Iterator[tuple[int, Path]]:
    """Memory limit of each group that has one [bytes], and the file with the limit."""
    for controller, name in (("", "memory.max"), ("memory", "memory.limit_in_bytes")):
        for folder in _groups(proc, cgroups, controller):
            limit = _number(folder / name)
            if limit is not None and limit < _NO_LIMIT:
                yield limit, folder / name


def used_bytes(group: Path) -> int | None:
    """Bytes that count against the limit of a group, including page cache; None: unknown."""
    current = _number(group / "memory.current")
    return _number(group / "memory.usage_in_bytes") if current is None else current


def held_bytes(group: Path) -> int:
    """Bytes of a group that cannot be reclaimed: usage without page cache."""
    fields = dict(line.split() for line in _text(group / "memory.stat").splitlines())
    cache = int(fields.get("file", fields.get("total_cache", 0)))
    shared = int(fields.get("shmem", fields.get("total_shmem", 0)))
    return (used_bytes(group) or 0) - cache + shared


def _groups(proc: Path, cgroups: Path, controller: str) -> Iterator[Path]:
    """Folders of this process's group and of all groups above it, for a controller of version 1 or
    ("") version 2. In a container the path may be the host's and not exist: then only the root
    counts."""
    for line in _text(proc / "self" / "cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            root = cgroups / controller if controller else _unified(cgroups)
            own = root / path.lstrip("/")
            yield from (group for group in (own, *own.parents) if group.is_relative_to(root))


def _unified(cgroups: Path) -> Path:
    """Folder of version 2, a separate one where version 1 is mounted as well."""
    unified = cgroups / "unified"
    return unified if unified.is_dir() else cgroups


def _number(path: Path) -> int | None:
    text = _text(path).strip()
    return int(text) if text.lstrip("-").isdigit() else None


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
