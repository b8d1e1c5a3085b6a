"""Samples are thinned as they are read where there are too many, and figures stay what they are."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from forkrun.monitoring import records as reading
from forkrun.monitoring.records import read_records
from forkrun.monitoring.report.children import summarize_children
from forkrun.monitoring.report.memory import summarize_memory

from .conftest import sample_line, write_lines

WriteRun = Callable[..., Path]


def test_of_many_samples_some_are_kept_and_peaks_and_ends_stay(
    write_run: WriteRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = []
    for n in range(1, 400):
        memory = 50 + (300 if n == 173 else n % 40)  # the peak is no n-th sample
        lines += [sample_line(n, child, memory, 80, 4) for child in (None, 0, 1, 2)]
        alone = sample_line(n + 0.5, 1, 900 if n == 211 else 20, 80, 4, complete=False)
        lines.append(alone)
    lines.append({**sample_line(400, 2, 10, 80, 4, complete=False), "own_cost_s": 0.25})
    lines.append(sample_line(401, None, 40, 60, 1))
    run = write_run(samples=lines)
    every = read_records(run)
    monkeypatch.setattr(reading, "MOST_SAMPLES", 200)
    thinned = read_records(run)
    assert len(every.samples) == len(lines) == 399 * 5 + 2
    assert 150 < len(thinned.samples) < 300
    assert summarize_memory(thinned) == summarize_memory(every)
    of_children = [summarize_children(records) for records in (every, thinned)]
    assert of_children[0] == of_children[1]
    assert sum(s.own_cost_s for s in thinned.samples) == 0.25
    times = [sample.time_s for sample in thinned.samples]
    assert times == sorted(times)


def test_lines_that_are_none_are_named_and_a_last_one_may_be_cut(write_run: WriteRun) -> None:
    run = write_run()
    file = run / "monitoring" / "samples.jsonl"
    line = json.dumps(sample_line(18, None, 40, 60, 1))
    file.write_text(file.read_text() + "nonsense\n\n" + line + "\n" + line[:50])
    records = read_records(run)
    assert records.samples[-1].time_s == 1_000_018
    assert len(records.samples) == 12
    assert records.damaged[0].startswith("samples.jsonl: line 12 has an unexpected form")


def test_memory_does_not_grow_with_the_number_of_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "samples.jsonl"
    write_lines(file, [sample_line(n, 0, 20, 80, 3, complete=False) for n in range(20_000)])
    monkeypatch.setattr(reading, "MOST_SAMPLES", 100)
    tracemalloc.start()
    assert len(reading.read_samples(file, [])) < 150
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000
