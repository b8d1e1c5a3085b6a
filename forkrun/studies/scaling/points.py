"""Points of the measurement: numbers of children and threads, and additional work per event."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from forkrun.studies.frame.repeats import doubling


class Point(Struct, frozen=True):
    """One way of running the job. `work_ms`: CPU time per event in addition to the job's
    modules."""

    children: int
    threads: int
    work_ms: float = 0.0

    @property
    def n_cores(self) -> int:
        """Threads of all children."""
        return self.children * self.threads

    @property
    def setting(self) -> str:
        """Name of the settings other than children and threads; "" for the unchanged job."""
        return f"{self.work_ms:g} ms more" if self.work_ms else ""

    @property
    def name(self) -> str:
        """Name of the way: `2 × 1, 5 ms more`."""
        return ", ".join([f"{self.children} × {self.threads}", *filter(None, [self.setting])])

    @property
    def alone(self) -> Point:
        """The point with one child of one thread."""
        return Point(1, 1, self.work_ms)


def points(
    children: Sequence[int] | None,
    threads: Sequence[int] | None,
    work_ms: Sequence[float],
    n_cpus: int,
) -> list[Point]:
    """All points, with one child of one thread first. If the user gives numbers of children or of
    threads only, the others are one; without either: children of one thread, then threads of one
    child, up to the number of CPUs."""
    if children is None and threads is None:
        up_to = doubling(1, n_cpus)
        pairs = [(n, 1) for n in up_to] + [(1, n) for n in up_to]
    else:
        pairs = [(c, t) for t in threads or [1] for c in children or [1]]
    shapes = list(dict.fromkeys([(1, 1), *pairs]))
    return [Point(c, t, work) for work in work_ms for c, t in shapes]
