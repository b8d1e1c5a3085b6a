"""Time spent by the children's threads, in as many pieces as a screen can show."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from forkrun.monitoring.timing.course import KINDS, ChildCourses

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
        self.threads = {f"{len(self.threads)} threads": total / max(len(self.threads), 1)}


def course_rows(courses: Iterable[ChildCourses], start_s: float) -> list[dict[str, Any]]:
    """Rows by process: `child`, `start_s` (since the job's start) and `piece_s` of its pieces, and
    `threads`: `name`, and for each of KINDS the share of each piece [%]."""
    found = [_course(each, start_s) for each in courses if each.threads]
    _thin(found)
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


def _thin(courses: list[_Course]) -> None:
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
