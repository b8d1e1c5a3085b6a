"""Load by other programs on the machine, before and during a measurement."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from pathlib import Path

from msgspec import Struct

from forkrun.base.cgroups import PROC

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
            f"other programs used {self.before:.2f} of {self.n_cpus} CPUs before it, and"
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
