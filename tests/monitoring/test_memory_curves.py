"""Memory against time: each process from its fork to its end."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from forkrun.monitoring.records import read_records
from forkrun.monitoring.report.memory import summarize_memory
from forkrun.monitoring.report.memory_curves import memory_curves
from forkrun.monitoring.report.page.series import memory_series

from .conftest import CONFIG, MIB, T0, sample_line, timeline_lines

WriteRun = Callable[..., Path]


def test_a_process_counts_from_its_fork_to_its_end(write_run: WriteRun) -> None:
    curves = memory_curves(read_records(write_run()))
    at = {round(t - T0, 7): i for i, t in enumerate(curves.time_s.tolist())}
    assert [curves.private[1][at[t]] / MIB for t in (1, 5, 10, 17)] == [0, 10, 20, 0]
    assert curves.private[0][at[2]] / MIB == 1
    total = curves.shared + sum(curves.private.values())
    assert total[at[10]] / MIB == 160
    assert curves.rss[at[10]] / MIB == 400
    assert curves.shared[at[10]] / MIB == 80
    assert curves.n_processes[at[10]] == 4


def test_few_times_of_many_samples_still_hold_the_highest_one(write_run: WriteRun) -> None:
    parent = [sample_line(0.01 * n, None, 50, 10, 1) for n in range(1900)]
    child = [sample_line(2 + 0.005 * n, 0, 900 if n == 1234 else 20, 10, 1) for n in range(2600)]
    curves = memory_curves(read_records(write_run(samples=[*parent, *child])), most=100)
    assert len(curves.time_s) <= 110
    assert curves.private[0].max() / MIB == 900
    assert np.all(np.diff(curves.time_s) > 0)


def test_the_chart_and_the_peak_are_one_number(write_run: WriteRun) -> None:
    lines = [
        line
        for n in range(2500)
        for line in (
            sample_line(2 + 0.005 * n, c, 20 + (n * 7919) % 97, 80, 4) for c in (None, 0, 1, 2)
        )
    ]
    lines += [sample_line(9.0025, child, 200, 80, 4, complete=False) for child in (0, 1)]
    records = read_records(write_run(samples=lines))
    memory = summarize_memory(records)
    series = memory_series(records, memory, T0)
    assert memory
    assert series
    heights = [*map(sum, zip(*(each["values"] for each in series["layers"]), strict=True))]
    assert max(heights) == pytest.approx(memory.peak.pss_bytes / 1000, abs=3)
    assert memory.peak.private_bytes > 2 * 200 * MIB


def test_a_peak_is_never_lower_than_what_children_had_at_their_ends(write_run: WriteRun) -> None:
    """Nothing but the last samples of three children, which lived at the same time."""
    lines = [sample_line(1, None, 40, 60, 1)]
    for child, end_s in enumerate((15.0, 15.2, 15.4)):
        line = sample_line(end_s, child, 500, 80, 4, complete=False)
        lines.append({**line, "own_cost_s": 0.001})
    memory = summarize_memory(read_records(write_run(samples=lines)))
    assert memory
    assert memory.peak.n_processes == 4
    assert 1400 * MIB < memory.peak.private_bytes - 40 * MIB < 1500 * MIB
    assert memory.is_at_least


@pytest.mark.parametrize(
    ("most_rss", "is_at_least", "private"), [(110, False, 40), (900, True, 820)]
)
def test_a_child_that_had_more_between_samples_raises_the_peak(
    write_run: WriteRun, most_rss: int, is_at_least: bool, private: int
) -> None:
    """The kernel keeps the highest RSS of each process."""
    lines = [sample_line(t, c, 10, 80, 4) for t in (2, 9, 15) for c in (None, 0, 1, 2)]
    for child in range(3):
        line = sample_line(15.4, child, 10, 80, 4, complete=False)
        most = (most_rss if child == 1 else 90) * MIB
        lines.append({**line, "own_cost_s": 0.001, "most_rss_bytes": most})
    memory = summarize_memory(read_records(write_run(samples=lines)))
    assert memory
    assert memory.is_at_least is is_at_least
    assert memory.peak.private_bytes >= private * MIB
    peak = memory.peak
    assert peak.private_bytes + peak.shared_bytes == peak.pss_bytes
    assert peak.pss_bytes + memory.saving_bytes == peak.rss_bytes


def test_the_parent_of_an_earlier_session_ended_with_it(write_run: WriteRun) -> None:
    timeline = timeline_lines()
    later = [{**line, "time_s": line["time_s"] + 30, "pid": 999} for line in timeline[:4]]
    lines = [sample_line(t, None, 40, 60, 1) for t in (1, 17)]
    lines += [{**sample_line(t, None, 40, 60, 1), "pid": 999} for t in (32, 33)]
    memory = summarize_memory(read_records(write_run(samples=lines, timeline=[*timeline, *later])))
    assert memory
    assert (memory.peak.n_processes, memory.peak.private_bytes) == (1, 40 * MIB)


def test_a_complete_sample_of_fewer_processes_says_nothing_of_more(write_run: WriteRun) -> None:
    """What remains in common is not yet so when children end with samples of their own."""
    lines = [sample_line(5, who, 40, 60, 3) for who in (None, 0, 1)]
    lines += [sample_line(11, who, 40, 300, 2) for who in (None, 0)]
    ends = sample_line(10.9, 1, 45, 60, 3, complete=False)
    lines.append({**ends, "own_cost_s": 0.001})
    curves = memory_curves(read_records(write_run(samples=lines)))
    before = int(np.searchsorted(curves.time_s, T0 + 10.9))
    assert curves.shared[before] / MIB == 60


def test_common_memory_becomes_the_parents_when_the_last_child_ends(write_run: WriteRun) -> None:
    """And its own becomes common at the first fork: not little by little between two samples."""
    lines = [sample_line(1, None, 70, 10, 1), sample_line(17, None, 75, 10, 1)]
    lines += [sample_line(5, who, 10 if who is None else 5, 60, 4) for who in (None, 0, 1, 2)]
    for child in range(3):
        line = sample_line(15 + 0.1 * child, child, 5, 60, 3, complete=False)
        lines.append({**line, "own_cost_s": 0.001})
    records = read_records(write_run(samples=lines))
    curves, memory = memory_curves(records), summarize_memory(records)
    times = np.round(curves.time_s - T0, 6)
    found = [
        (curves.private[None][n] / MIB, curves.shared[n] / MIB)
        for at in (1.7, 1.700001, 5, 15.2, 15.200001, 17)
        for n in np.flatnonzero(times == at)
    ]
    assert found == [(70, 10), (10, 60), (10, 60), (10, 60), (75, 10), (75, 10)]
    assert memory
    assert (memory.peak.private_bytes, memory.peak.shared_bytes) == (25 * MIB, 60 * MIB)


def test_many_children_are_bands_and_those_far_above_them(write_run: WriteRun) -> None:
    own = {child: 100 + child for child in range(64)} | {7: 400}
    lines = [sample_line(5, child, own[child], 80, 65) for child in own]
    lines.append(sample_line(5, None, 50, 80, 65))
    run = write_run(samples=lines)
    (run / "config.json").write_text(json.dumps({**CONFIG, "limits": {"memory": 9_000_000_000}}))
    memory = summarize_memory(read_records(run))
    assert memory
    assert [(each.name, len(each.children)) for each in memory.parts] == [
        ("parent", 0), ("16 children with least", 16), ("31 children between", 31),
        ("16 children with most", 16), ("child 7", 1),
    ]  # fmt: skip
    assert sorted(c for each in memory.parts for c in each.children) == list(range(64))
    assert sum(each.private_bytes for each in memory.parts) == memory.peak.private_bytes
    assert sum(each.rss_bytes for each in memory.parts) == memory.peak.rss_bytes
    assert [each.highest_bytes // MIB for each in memory.parts] == [50, 116, 147, 163, 400]
    assert memory.limit_bytes == 9_000_000_000
