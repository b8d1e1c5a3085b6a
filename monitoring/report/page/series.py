"""Memory and activity against time, in as many points as a screen can show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from forkrun.base.destinations import datasets_in
from forkrun.monitoring.records import RunRecords
from forkrun.monitoring.report.memory_curves import Curve, memory_curves
from forkrun.monitoring.report.phases import parent_steps
from forkrun.rundir.ledger import Commit

_MOST_POINTS = 1200
"""Points of each curve."""
_MOST_VALUES = 120_000
_MOST_BARS = 40_000
_MOST_JOINED = 8
"""Longest joined bar, in units of the smallest visible gap."""


def memory_series(records: RunRecords, start_s: float) -> dict[str, Any] | None:
    """Times since `start_s` [s]; memory in kB: shared, private by process, and the sum of RSS, the
    size without sharing. None: no samples."""
    if len(records.samples) < 2:
        return None
    n_processes = len({sample.child for sample in records.samples})
    most = max(min(_MOST_POINTS, _MOST_VALUES // n_processes), 100)
    curves = memory_curves(records, most)
    return {
        "time_s": _rounded(curves.time_s - start_s),
        "shared": _kilobytes(curves.shared),
        "private": [
            {"child": child, "values": _kilobytes(values)}
            for child, values in curves.private.items()
        ],
        "unshared": _kilobytes(curves.rss),
    }


def _rounded(time_s: Curve) -> list[float]:
    return [float(value) for value in np.round(time_s, 4)]


def _kilobytes(values: Curve) -> list[int]:
    return [int(value) for value in np.round(values / 1000)]


class Bar(Struct, array_like=True):
    """Work of a child without visible gaps: times since the job's start [s]; the first of its
    lumis; its dataset; `n` commits; `shade`: 1 for every second lumi of the child."""

    start_s: float
    end_s: float
    run: int
    lumi: int
    dataset: int
    n_events: int
    n: int
    shade: int


def activity_rows(records: RunRecords, start_s: float) -> list[dict[str, Any]]:
    """Bars of each child with commits, by its number."""
    by_child: dict[int, list[Commit]] = {}
    for commit in records.ledger:
        by_child.setdefault(commit.child, []).append(commit)
    last_s = max((commit.end_s for commit in records.ledger), default=start_s)
    gap_s = _visible_gap(len(records.ledger), last_s - start_s)
    return [
        {"child": child, "bars": list(_bars(commits, start_s, gap_s))}
        for child, commits in sorted(by_child.items())
    ]


def _visible_gap(n_bars: int, length_s: float) -> float:
    """Length below which gaps are not drawn; 0: all are drawn [s]."""
    return 0.0 if n_bars <= _MOST_BARS else length_s * n_bars / _MOST_BARS / 4000


def _bars(commits: Sequence[Commit], start_s: float, gap_s: float) -> Iterator[Bar]:
    bar, shade, before = None, 1, (-1, -1, -1)
    for commit in commits:
        if (place := (commit.dataset, commit.run, commit.lumi)) != before:
            shade, before = 1 - shade, place
        begin_s, end_s = round(commit.start_s - start_s, 5), round(commit.end_s - start_s, 5)
        if bar is not None:
            if begin_s - bar.end_s < gap_s and begin_s - bar.start_s < _MOST_JOINED * gap_s:
                bar.end_s, bar.n_events, bar.n = end_s, bar.n_events + commit.n_events, bar.n + 1
                continue
            yield bar
        bar = Bar(
            begin_s, end_s, commit.run, commit.lumi, commit.dataset, commit.n_events, 1, shade
        )
    if bar is not None:
        yield bar


def parent_bars(records: RunRecords, start_s: float) -> list[dict[str, Any]]:
    """Work of the parent of each session outside its children: `what`, `start_s`, `end_s`."""
    return [
        {"what": what, "start_s": round(begin - start_s, 4), "end_s": round(end - start_s, 4)}
        for part in records.sessions()
        for what, begin, end in parent_steps(part)
    ]


def dataset_names(records: RunRecords) -> dict[str, str]:
    """Names by number, for a job with several datasets."""
    return {str(number): each.name for number, each in datasets_in(records.config).items()}
