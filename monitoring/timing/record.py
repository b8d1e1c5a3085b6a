"""Record of the calls of one child, and the time spent by its threads, in a bounded number of equal
pieces."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import MsgspecError, Struct, to_builtins
from msgspec.json import Decoder
from msgspec.structs import asdict

from forkrun import _core
from forkrun.base.durable import open_new, published, write_json
from forkrun.base.regular_file import read_regular
from forkrun.monitoring.timing.model import SpentTime
from forkrun.rundir.directory import RunDirectory, unused

KINDS = ("reading", "unpacking", "processing", "committing")
"""The rest is waiting."""
AHEAD = "reads ahead"
_US = 1e-6


class ThreadCourse(Struct, frozen=True):
    """A thread: its time of each kind, by piece [us]."""

    name: str
    reading: tuple[int, ...]
    unpacking: tuple[int, ...]
    processing: tuple[int, ...]
    committing: tuple[int, ...]

    def seconds(self, kind: str) -> float:
        """Time of a kind [s]."""
        return math.fsum(getattr(self, kind)) * _US


class ChildCourses(Struct, frozen=True):
    """Threads of a child's process. `start_s`: of the first piece, since the epoch; `clock_s`: zero
    of the clock of its calls in a trace, since the epoch."""

    child: int
    clock_s: float
    start_s: float
    piece_s: float
    threads: tuple[ThreadCourse, ...]

    @classmethod
    def of(cls, activity: Mapping[str, Any], child: int) -> ChildCourses:
        """Courses from the core's record, which uses the machine's monotonic clock."""
        clock_s = time.time() - time.monotonic()
        threads = tuple(ThreadCourse(**thread) for thread in activity["threads"])
        start_s = clock_s + activity["start_s"]
        return cls(child, clock_s, start_s, activity["piece_s"], threads)

    def spent(self, wall_s: float, n_threads: int) -> SpentTime:
        """Sums over its threads, of `wall_s` each; the thread that reads ahead counts apart, since
        its waiting means nothing."""
        own = [thread for thread in self.threads if thread.name != AHEAD]
        ahead = [thread for thread in self.threads if thread.name == AHEAD]
        reading_s, unpacking_s, processing_s, committing_s = (
            math.fsum(each.seconds(kind) for each in own) for kind in KINDS
        )
        return SpentTime(
            reading_s,
            unpacking_s,
            processing_s,
            committing_s,
            ahead_s=math.fsum(each.seconds(kind) for each in ahead for kind in KINDS),
            thread_s=wall_s * max(n_threads, len(own)),
        )


def read_courses(folder: RunDirectory) -> Iterator[ChildCourses]:
    """Yields the courses of all processes with readable files."""
    decode = Decoder(ChildCourses).decode
    for file in folder.child_courses():
        try:
            yield decode(read_regular(file))
        except (OSError, MsgspecError):
            continue


def write_timing(
    processor: _core.Processor,
    run: Path,
    child: int,
    *,
    trace: bool,
    asked: Mapping[str, Set[str]],
    n_events: int,
    cpu_s: float,
    n_threads: int,
) -> None:
    """Writes, at the end of a child's work, {"modules": [{label, kind, concurrency, inputs, count,
    total_s, max_s, cpu_s, wait_inputs_s, wait_queue_s, bins: [[start_s, count], …], and for columns
    input: {read_calls, …}}], "loading", "stalls": [[module, waited_for, count, total_s]],
    "n_not_traced", "spent", "asked": {module: [column, …]} of modules in Python, "n_events"
    (committed by this process), "cpu_s", "wall_s" (of it, since it began to process)}; the time
    spent by its threads, in pieces; and the trace as (n,) records, as from
    `_core.Processor.trace`."""
    folder = RunDirectory(run)
    timing = processor.timing()
    activity = timing.pop("activity")
    wall_s = time.monotonic() - activity["start_s"]
    courses = ChildCourses.of(activity, child)
    timing |= {"n_events": n_events, "cpu_s": cpu_s, "wall_s": wall_s}
    timing["spent"] = {**asdict(courses.spent(wall_s, n_threads)), "n_events": n_events}
    timing["asked"] = {label: sorted(columns) for label, columns in asked.items()}
    write_json(unused(folder.child_timing(child)), timing, indent=None)
    write_json(unused(folder.child_course(child)), to_builtins(courses), indent=None)
    if trace:
        with (
            published(unused(folder.child_trace(child))) as temporary,
            open_new(temporary) as file,
        ):
            np.save(file, processor.trace())
