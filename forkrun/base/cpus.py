"""CPUs that a job may use, and numbers derived from them."""

from __future__ import annotations

import os

from forkrun.base.cgroups import core_limits


def usable_cpus() -> int:
    """Number of CPUs of this process: its affinity, or less where a control group limits CPU
    time."""
    limits = [len(os.sched_getaffinity(0)), *(limit for limit, _ in core_limits())]
    return max(int(min(limits)), 1)


def merge_threads(n_children: int, n_threads: int) -> int:
    """Threads of the merging process: as many as all children had, at most one per CPU."""
    return min(max(n_children, 1) * n_threads, usable_cpus())


class CpuShare:
    """Share of the wanted CPU time that this process got."""

    def __init__(self) -> None:
        self._ran_ns, self._waited_ns = _run_and_wait_ns()

    def slowness(self) -> float:
        """Ratio of the time in which threads ran or were ready to the time in which they ran, since
        the last call: 1 if a CPU was always free, or if the kernel does not tell."""
        before = self._ran_ns, self._waited_ns
        self._ran_ns, self._waited_ns = _run_and_wait_ns()
        ran_ns, waited_ns = self._ran_ns - before[0], self._waited_ns - before[1]
        return 1.0 + max(waited_ns, 0) / ran_ns if ran_ns > 0 else 1.0


def _run_and_wait_ns() -> tuple[int, int]:
    """Time on a CPU and waiting for one [ns], summed over the threads of this process."""
    ran_ns = waited_ns = 0
    try:
        for thread in os.listdir("/proc/self/task"):
            ran, waited, _ = _read(f"/proc/self/task/{thread}/schedstat").split()
            ran_ns += int(ran)
            waited_ns += int(waited)
    except (OSError, ValueError):  # missing file, or a thread that has ended meanwhile
        return 0, 0
    return ran_ns, waited_ns


def _read(path: str) -> bytes:
    """Content of a short kernel file, without classes for paths and texts, which would be copied
    into each child."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 256)
    finally:
        os.close(descriptor)
