"""Cores and memory of a slot, from recorded trees of /proc and of control groups."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from forkrun.studies.frame.machine import available_memory_bytes, find_slot

MEMINFO = """MemTotal: 16000000 kB
MemFree: 1 kB
MemAvailable: 8000000 kB
Buffers: 1 kB
Cached: 1 kB
Shmem: 1 kB
Active: 1 kB
Inactive: 1 kB
Slab: 1 kB
"""
GIB = 1 << 30


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path / "proc"))
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/meminfo").write_text(MEMINFO)
    (tmp_path / "proc/self/cgroup").write_text("0::/\n")
    return tmp_path / "proc"


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


def test_a_machine_without_limits_is_the_slot(proc: Path, tmp_path: Path) -> None:
    slot = find_slot(environment={}, proc=proc, cgroups=tmp_path / "cgroup")
    assert slot.n_cores == len(os.sched_getaffinity(0))
    assert (slot.memory.value, slot.memory.source) == (16000000 * 1024, "memory of the machine")


def test_the_smallest_limit_of_all_groups_above_counts(proc: Path, tmp_path: Path) -> None:
    (proc / "self/cgroup").write_text("0::/slurm/job_7/step_0\n")
    groups = tmp_path / "cgroup"
    write(groups / "slurm/job_7/step_0", memory__max="max\n", cpu__max="max 100000\n")
    write(groups / "slurm/job_7", memory__max=f"{4 * GIB}\n", cpu__max="50000 100000\n")
    write(groups / "slurm", memory__max=f"{64 * GIB}\n")
    slot = find_slot(environment={}, proc=proc, cgroups=groups)
    assert slot.memory.value == 4 * GIB
    assert slot.memory.source.endswith("slurm/job_7/memory.max")
    assert (slot.cores.value, slot.n_cores) == (0.5, 1)


def test_groups_of_version_1_count_and_the_largest_number_is_no_limit(
    proc: Path, tmp_path: Path
) -> None:
    (proc / "self/cgroup").write_text("4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n0::/\n")
    groups = tmp_path / "cgroup"
    write(groups / "memory/docker/abc", **{"memory__limit_in_bytes": "9223372036854771712\n"})
    write(groups / "memory", **{"memory__limit_in_bytes": f"{2 * GIB}\n"})
    write(groups / "cpu/docker/abc", cpu__cfs_quota_us="-1\n", cpu__cfs_period_us="100000\n")
    write(groups / "cpu", cpu__cfs_quota_us="100000\n", cpu__cfs_period_us="100000\n")
    slot = find_slot(environment={}, proc=proc, cgroups=groups)
    assert slot.memory.value == 2 * GIB
    assert slot.cores.value == 1


@pytest.mark.parametrize(
    ("environment", "cores", "memory"),
    [
        ({"SLURM_CPUS_PER_TASK": "1", "SLURM_MEM_PER_NODE": "2048"}, 1, 2 * GIB),
        ({"SLURM_CPUS_ON_NODE": "1", "SLURM_MEM_PER_CPU": "1024"}, 1, GIB),
        ({"SLURM_MEM_PER_NODE": "0"}, len(os.sched_getaffinity(0)), 16000000 * 1024),
    ],
)
def test_slurm_says_what_a_job_was_given(
    proc: Path, tmp_path: Path, environment: dict[str, str], cores: int, memory: int
) -> None:
    slot = find_slot(environment=environment, proc=proc, cgroups=tmp_path)
    assert (slot.n_cores, slot.memory.value) == (cores, memory)


def test_what_is_asked_for_replaces_what_was_found(proc: Path, tmp_path: Path) -> None:
    slot = find_slot(cores=64, memory_bytes=1e12, environment={}, proc=proc, cgroups=tmp_path)
    assert (slot.n_cores, slot.memory.value, slot.cores.source) == (64, 1e12, "asked for")


def test_what_is_available_is_what_the_group_has_left(proc: Path, tmp_path: Path) -> None:
    groups = tmp_path / "cgroup"
    assert available_memory_bytes(proc, groups) == 8000000 * 1024
    write(groups, memory__max=f"{2 * GIB}\n", memory__current=f"{GIB}\n")
    assert available_memory_bytes(proc, groups) == GIB
