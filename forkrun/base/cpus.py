"""CPUs that a job may use, and what follows from their number."""

from __future__ import annotations

import os

from forkrun.base.cgroups import core_limits


def usable_cpus() -> int:
    """CPUs of this process: those it may run on, fewer where a control group limits their time."""
    limits = [len(os.sched_getaffinity(0)), *(limit for limit, _ in core_limits())]
    return max(int(min(limits)), 1)


def merge_threads(n_children: int, n_threads: int) -> int:
    """Threads of the merging process: as many as all children had, on the CPUs that there are."""
    return min(max(n_children, 1) * n_threads, usable_cpus())
