"""Limits and use of control groups, from recorded trees of both versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from forkrun.base.cgroups import core_limits, held_bytes, memory_limits, used_bytes

GIB = 1 << 30


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")


def test_limits_of_version_2_are_those_of_all_groups_above(tmp_path: Path) -> None:
    proc, groups = tmp_path / "proc", tmp_path / "cgroup"
    write(proc, {"self/cgroup": "0::/slurm/job_7"})
    write(groups, {"slurm/job_7/memory.max": "max", "slurm/job_7/cpu.max": "50000 100000"})
    write(groups, {"slurm/memory.max": f"{GIB}", "slurm/cpu.max": "max 100000"})
    assert list(memory_limits(proc, groups)) == [(GIB, groups / "slurm/memory.max")]
    assert list(core_limits(proc, groups)) == [(0.5, groups / "slurm/job_7/cpu.max")]


def test_limits_of_version_1_are_in_a_tree_for_each_controller(tmp_path: Path) -> None:
    proc, groups = tmp_path / "proc", tmp_path / "cgroup"
    write(proc, {"self/cgroup": "4:memory:/batch\n3:cpu,cpuacct:/batch\n0::/"})
    write(groups / "memory", {"memory.limit_in_bytes": "9223372036854771712"})
    write(groups / "memory/batch", {"memory.limit_in_bytes": f"{GIB}"})
    write(groups / "cpu", {"cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000"})
    write(groups / "cpu/batch", {"cpu.cfs_quota_us": "250000", "cpu.cfs_period_us": "100000"})
    memory = groups / "memory/batch/memory.limit_in_bytes"
    assert list(memory_limits(proc, groups)) == [(GIB, memory)]
    assert list(core_limits(proc, groups)) == [(2.5, groups / "cpu/batch/cpu.cfs_quota_us")]


def test_version_2_may_be_beside_version_1(tmp_path: Path) -> None:
    proc, groups = tmp_path / "proc", tmp_path / "cgroup"
    write(proc, {"self/cgroup": "0::/batch"})
    write(groups, {"unified/batch/memory.max": "1000"})
    assert list(memory_limits(proc, groups)) == [(1000, groups / "unified/batch/memory.max")]


def test_in_a_container_the_path_is_that_of_the_host_and_the_root_counts(tmp_path: Path) -> None:
    proc, groups = tmp_path / "proc", tmp_path / "cgroup"
    write(proc, {"self/cgroup": "4:memory:/docker/abc\n0::/docker/abc"})
    write(groups, {"memory.max": "1000", "memory/memory.limit_in_bytes": "2000"})
    assert [limit for limit, _ in memory_limits(proc, groups)] == [1000, 2000]


def test_without_groups_there_is_no_limit(tmp_path: Path) -> None:
    assert list(memory_limits(tmp_path, tmp_path)) == list(core_limits(tmp_path, tmp_path)) == []
    assert used_bytes(tmp_path) is None


@pytest.mark.parametrize(
    "files",
    [
        {"memory.current": "1000", "memory.stat": "anon 300\nfile 600\nshmem 50"},
        {"memory.usage_in_bytes": "1000", "memory.stat": "total_cache 600\ntotal_shmem 50"},
    ],
)
def test_a_group_holds_what_it_uses_without_the_page_cache(
    tmp_path: Path, files: dict[str, str]
) -> None:
    write(tmp_path, files)
    assert used_bytes(tmp_path) == 1000
    assert held_bytes(tmp_path) == 450
