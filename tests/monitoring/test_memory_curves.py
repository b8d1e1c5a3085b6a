"""Memory against time: each process from its first sample to its end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from forkrun.monitoring.records import read_records
from forkrun.monitoring.report.memory_curves import add_up, memory_curves

from .conftest import MIB, T0, sample_line

WriteRun = Callable[..., Path]


def test_a_process_counts_from_its_first_sample_to_its_end(write_run: WriteRun) -> None:
    curves = memory_curves(read_records(write_run()))
    at = {round(t - T0, 7): i for i, t in enumerate(curves.time_s.tolist())}
    assert [curves.private[1][at[t]] / MIB for t in (2, 5, 10, 15.5, 17)] == [0, 10, 20, 20, 0]
    assert curves.private[0][at[2]] / MIB == 1
    assert add_up(curves.pss)[at[10]] / MIB == 160
    assert add_up(curves.rss)[at[10]] / MIB == 400
    assert curves.shared[at[10]] / MIB == 80


def test_few_times_of_many_samples_still_hold_the_highest_one(write_run: WriteRun) -> None:
    parent = [sample_line(0.01 * n, None, 50, 10, 1) for n in range(1900)]
    child = [sample_line(2 + 0.005 * n, 0, 900 if n == 1234 else 20, 10, 1) for n in range(2600)]
    curves = memory_curves(read_records(write_run(samples=[*parent, *child])), most=100)
    assert len(curves.time_s) <= 110
    assert curves.private[0].max() / MIB == 900
    assert np.all(np.diff(curves.time_s) > 0)
