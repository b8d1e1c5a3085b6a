"""Time limit of a job, and the time at which it has to start ending."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping

from msgspec import Struct

from forkrun.base.quantities import parse_duration

_SPARE_S = 10.0
"""Safety margin."""
_COPIED_BYTES_PER_S = 100e6
_READ_BYTES_PER_S = 60e6
_WRITTEN_BYTES_PER_S = 6e6
"""Compressed bytes that a merging thread copies, reads, and rewrites: on a slow machine."""


class Deadline(Struct, frozen=True):
    """`at_s`: on the monotonic clock; `why`: source of the limit."""

    at_s: float
    why: str


def find_deadline(walltime_s: float | None, start_s: float) -> Deadline | None:
    """The earlier of the job's own limit, counted from `start_s`, and that of its Slurm allocation.
    Monotonic clock."""
    deadlines = []
    if walltime_s is not None:
        deadlines.append(Deadline(start_s + walltime_s, f"limits.walltime = {walltime_s:g} s"))
    left_s = slurm_time_left_s(os.environ)
    if left_s is not None:
        why = f"the allocation of Slurm job {os.environ['SLURM_JOB_ID']}"
        deadlines.append(Deadline(time.monotonic() + left_s, why))
    return min(deadlines, key=lambda deadline: deadline.at_s, default=None)


def slurm_time_left_s(environment: Mapping[str, str]) -> float | None:
    """Time left in this process's Slurm allocation; None outside, or if Slurm does not tell."""
    job = environment.get("SLURM_JOB_ID")
    if not job:
        return None
    end = environment.get("SLURM_JOB_END_TIME", "")
    if end.isdecimal():
        return int(end) - time.time()
    command = ["squeue", "--noheader", "--jobs", job, "--format", "%L"]
    try:
        asked = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
        left = parse_duration(asked.stdout.strip())
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return left if isinstance(left, float) else None


def time_to_make_outputs_s(n_read: int, n_selected: int, event_bytes: float) -> float:
    """Conservative estimate of the time for one thread to write the selected events to an output
    [s]. `event_bytes`: compressed bytes per input event."""
    if n_selected in (0, n_read):
        return n_selected * event_bytes / _COPIED_BYTES_PER_S
    read_s = n_read * event_bytes / _READ_BYTES_PER_S
    return read_s + n_selected * event_bytes / _WRITTEN_BYTES_PER_S


def time_to_merge_s(outputs_s: float) -> float:
    """Time to make outputs that take this long [s], with a safety margin."""
    return _SPARE_S + outputs_s


def time_for_units_s(longest_unit_s: float) -> float:
    """Time to finish the units in flight [s]."""
    return 1.2 * longest_unit_s
