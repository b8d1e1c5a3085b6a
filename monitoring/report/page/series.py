"""Memory, activity and time of threads against time, in as many points as a screen can show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from forkrun.base.destinations import datasets_in
from forkrun.base.quantities import plural
from forkrun.monitoring.records import RunRecords
from forkrun.monitoring.report.memory import MemorySummary
from forkrun.monitoring.report.memory_curves import Curve, memory_curves
from forkrun.monitoring.report.phases import parent_steps
from forkrun.monitoring.timing.record import KINDS, ChildCourses
from forkrun.rundir.ledger import Commit

_MOST_POINTS = 1200
"""Points of each curve."""
_MOST_BARS = 20_000
_MOST_JOINED = 8
"""Longest joined bar, in units of the smallest visible gap."""


def memory_series(
    records: RunRecords, memory: MemorySummary | None, start_s: float
) -> dict[str, Any] | None:
    """Times since `start_s` [s]; memory in kB: `layers` of shared memory and of private memory by
    part of the summary, and the sum of RSS, the size without sharing. None: no samples."""
    if memory is None or len(records.samples) < 2:
        return None
    curves = memory_curves(records, _MOST_POINTS)
    none = np.zeros_like(curves.time_s)
    layers = {"shared": curves.shared}
    for part in memory.parts:
        own = [curves.private.get(child, none) for child in part.children or (None,)]
        layers[f"{part.name}, private"] = np.sum(own, axis=0)
    return {
        "time_s": np.round(curves.time_s - start_s, 4).tolist(),
        "layers": [{"name": name, "values": _kilobytes(each)} for name, each in layers.items()],
        "unshared": _kilobytes(curves.rss),
    }


def _kilobytes(values: Curve) -> list[int]:
    found: list[int] = np.round(values / 1000).astype(int).tolist()
    return found


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
    n_bars, gap_s = len(records.ledger), 0.0
    if n_bars > _MOST_BARS:  # shorter gaps are not drawn
        gap_s = (last_s - start_s) * n_bars / _MOST_BARS / 4000
    return [
        {"child": child, "bars": list(_bars(commits, start_s, gap_s))}
        for child, commits in sorted(by_child.items())
    ]


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


_MOST_VALUES = 400_000
_FEWEST_PIECES = 64

Pieces = npt.NDArray[np.float64]
"""(n_kinds, n_pieces) [share of the piece]."""


class _Course(Struct):
    """A process of a child: its threads by name."""

    child: int
    start_s: float
    piece_s: float
    threads: dict[str, Pieces]

    @property
    def n_values(self) -> int:
        return sum(pieces.size for pieces in self.threads.values())

    @property
    def n_pieces(self) -> int:
        return max((pieces.shape[1] for pieces in self.threads.values()), default=0)

    def halve(self) -> None:
        """Joins pieces two by two."""
        self.threads = {name: _halved(pieces) for name, pieces in self.threads.items()}
        self.piece_s *= 2

    def join_threads(self) -> None:
        """Replaces the threads by their mean."""
        total = np.zeros((len(KINDS), self.n_pieces))
        for pieces in self.threads.values():
            total[:, : pieces.shape[1]] += pieces
        self.threads = {plural(len(self.threads), "thread"): total / max(len(self.threads), 1)}


def course_rows(courses: Iterable[ChildCourses], start_s: float) -> list[dict[str, Any]]:
    """Rows by process: `child`, `start_s` (since the job's start) and `piece_s` of its pieces, and
    `threads`: `name`, and for each of KINDS the share of each piece [%]."""
    found = [_course(each, start_s) for each in courses if each.threads]
    _downsample(found)
    return [
        {
            "child": course.child,
            "start_s": round(course.start_s, 4),
            "piece_s": course.piece_s,
            "threads": [
                {"name": name, "kinds": np.rint(100 * pieces).astype(int).tolist()}
                for name, pieces in course.threads.items()
            ],
        }
        for course in found
    ]


def _course(of: ChildCourses, start_s: float) -> _Course:
    threads = {
        thread.name: np.array([getattr(thread, kind) for kind in KINDS]) * 1e-6 / of.piece_s
        for thread in of.threads
    }
    return _Course(of.child, of.start_s - start_s, of.piece_s, threads)


def _downsample(courses: list[_Course]) -> None:
    """Reduces the values to _MOST_VALUES: longer pieces first, then one mean thread per child."""
    while sum(course.n_values for course in courses) > _MOST_VALUES:
        most = max(course.n_pieces for course in courses)
        if most <= _FEWEST_PIECES and any(len(course.threads) > 1 for course in courses):
            for course in courses:
                course.join_threads()
        elif most > 1:
            for course in courses:
                if course.n_pieces > most / 2:
                    course.halve()
        else:
            return


def _halved(pieces: Pieces) -> Pieces:
    padded = np.pad(pieces, ((0, 0), (0, pieces.shape[1] % 2)))
    halves: Pieces = padded.reshape(len(KINDS), -1, 2).mean(axis=2)
    return halves
