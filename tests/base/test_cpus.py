"""CPUs that a job may use, and what a process got of them."""

from __future__ import annotations

import os
import time

import pytest

from forkrun.base.cpus import CpuShare


def compute(cpu_s: float) -> None:
    end_s = time.process_time() + cpu_s
    while time.process_time() < end_s:
        pass


def test_a_process_that_shares_a_cpu_with_others_is_slow() -> None:
    if (pid := os.fork()) == 0:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        reading, writing = os.pipe()
        others = [os.fork() for _ in range(3)]
        if 0 in others:
            compute(0.01)
            os.write(writing, b".")
            compute(30.0)
            os._exit(0)
        for _ in others:
            os.read(reading, 1)  # it computes by now
        share = CpuShare()
        compute(0.1)
        slow = share.slowness()
        for other in others:
            os.kill(other, 9)
        os._exit(int(min(slow, 100)))
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) >= 2


@pytest.mark.slow
def test_a_process_that_sleeps_is_not_slow() -> None:
    """It sleeps until another one has computed, and said when it was done."""
    reading, writing = os.pipe()
    other = os.fork()
    if other == 0:
        compute(0.5)
        os.write(writing, str(time.monotonic()).encode())
        os._exit(0)
    begin_s, share = time.monotonic(), CpuShare()
    awake_s = time.monotonic() - begin_s
    done_s = float(os.read(reading, 100))
    compute(0.05)
    awake_s += time.monotonic() - done_s  # more than 0.05 s where others compute as well
    assert share.slowness() < (awake_s + 0.05) / 0.05  # with the time asleep 10 more
    os.waitpid(other, 0)
    os.close(reading)
    os.close(writing)
