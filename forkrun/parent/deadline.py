"""How long a job may take, and when it has to begin to end."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping

from msgspec import Struct

from forkrun.base.quantities import parse_duration

_SPARE_S = 10.0
"""Reserve for the unforeseen."""
_COPIED_BYTES_PER_S = 100e6
_READ_BYTES_PER_S = 60e6
_WRITTEN_BYTES_PER_S = 6e6
"""Compressed bytes that a thread of a merge copies, reads, and makes anew: on a slow machine."""


class Deadline(Struct, frozen=True):
    """`at_s`: on the monotonic clock; `why`: what set it."""

    at_s: float
    why: str


def find_deadline(walltime_s: float | None, start_s: float) -> Deadline | None:
    """The earlier of the job's own limit, which counts from `start_s`, and that of the Slurm
    allocation it runs in. Monotonic clock."""
    deadlines = []
    if walltime_s is not None:
        deadlines.append(Deadline(start_s + walltime_s, f"limits.walltime = {walltime_s:g} s"))
    left_s = slurm_time_left_s(os.environ)
    if left_s is not None:
        why = f"the allocation of Slurm job {os.environ['SLURM_JOB_ID']}"
        deadlines.append(Deadline(time.monotonic() + left_s, why))
    return min(deadlines, key=lambda deadline: deadline.at_s, default=None)


def slurm_time_left_s(environment: Mapping[str, str]) -> float | None:
    """Time left of this process's Slurm allocation; None outside, or if Slurm does not say."""
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
    """Time that one thread takes to put the selected of so many events into an output [s], a
    cautious guess. `event_bytes`: compressed bytes that an event has in the input."""
    if n_selected in (0, n_read):
        return n_selected * event_bytes / _COPIED_BYTES_PER_S
    read_s = n_read * event_bytes / _READ_BYTES_PER_S
    return read_s + n_selected * event_bytes / _WRITTEN_BYTES_PER_S


def time_to_merge_s(outputs_s: float) -> float:
    """Time to make outputs that take this long [s], with some to spare."""
    return _SPARE_S + outputs_s


def time_for_units_s(longest_unit_s: float) -> float:
    """Time to finish the units in flight [s]."""
    return 1.2 * longest_unit_s
