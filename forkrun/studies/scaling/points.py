"""What is measured: so many children of so many threads, with so much work for each event."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from forkrun.studies.frame.repeats import doubling


class Point(Struct, frozen=True):
    """One way to run the job. `work_ms`: CPU time that each event takes besides that of the job's
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
        """Name of all that is neither children nor threads; "" of the job as it is."""
        return f"{self.work_ms:g} ms more" if self.work_ms else ""

    @property
    def name(self) -> str:
        """Name of the way: `2 × 1, 5 ms more`."""
        return ", ".join([f"{self.children} × {self.threads}", *filter(None, [self.setting])])

    @property
    def alone(self) -> Point:
        """The same with one child of one thread."""
        return Point(1, 1, self.work_ms)


def points(
    children: Sequence[int] | None,
    threads: Sequence[int] | None,
    work_ms: Sequence[float],
    n_cpus: int,
) -> list[Point]:
    """All of them, and one child of one thread first. Where the user names numbers of children or
    of threads alone, the others are one; names neither: children of one thread, then threads of one
    child, as many as there are CPUs."""
    if children is None and threads is None:
        up_to = doubling(1, n_cpus)
        pairs = [(n, 1) for n in up_to] + [(1, n) for n in up_to]
    else:
        pairs = [(c, t) for t in threads or [1] for c in children or [1]]
    shapes = list(dict.fromkeys([(1, 1), *pairs]))
    return [Point(c, t, work) for work in work_ms for c, t in shapes]
