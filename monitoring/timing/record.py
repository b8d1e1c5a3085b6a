"""Record of one child's calls."""

from __future__ import annotations

import time
from collections.abc import Mapping, Set
from pathlib import Path

import numpy as np
from msgspec import to_builtins
from msgspec.structs import asdict

from forkrun import _core
from forkrun.base.durable import open_new, published, write_json
from forkrun.monitoring.timing.course import ChildCourses
from forkrun.rundir.directory import RunDirectory, unused


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
