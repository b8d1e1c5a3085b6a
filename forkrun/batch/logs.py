"""What the processes of a node said."""

from __future__ import annotations

import re
from pathlib import Path

from forkrun.batch.course import Submission
from forkrun.rundir.directory import RunDirectory

_TAIL_BYTES = 16_384
_OUT_OF_MEMORY = re.compile(r"oom[-_ ]?kill|out[ _]of[ _]memory|memory cgroup", re.IGNORECASE)


def logs_of(folder: RunDirectory, number: int, submission: Submission | None) -> list[Path]:
    """Logs of a node that exist: its own, then that of the batch system for its last job."""
    logs = [folder.batch_log(number)]
    if submission and number in submission.nodes:
        place = submission.nodes.index(number)
        found = folder.batch_log(number).parent.glob(f"{submission.on}-*_{place}.log")
        since = [log for log in found if log.stat().st_mtime >= submission.time_s]
        logs += sorted(since, key=lambda log: log.stat().st_mtime)[-1:]
    return [log for log in logs if log.exists()]


def tail(log: Path, n_lines: int) -> list[str]:
    """The last lines of a file."""
    with log.open("rb") as file:
        file.seek(max(log.stat().st_size - _TAIL_BYTES, 0))
        return file.read().decode(errors="replace").splitlines()[-n_lines:]


def last_words(folder: RunDirectory, number: int, submission: Submission | None) -> str:
    """Why a node failed, as its last error or the batch system says; "" if nobody does."""
    for log in reversed(logs_of(folder, number, submission)):
        lines = [line for line in tail(log, 50) if line.strip()]
        errors = [line for line in lines if line.startswith(("forkrun:", "slurmstepd:"))]
        if errors or lines:
            return (errors or lines)[-1].removeprefix("forkrun: ")
    return ""


def speaks_of_memory(folder: RunDirectory, number: int, submission: Submission | None) -> bool:
    """Whether a log says that memory was exceeded."""
    logs = logs_of(folder, number, submission)
    return any(_OUT_OF_MEMORY.search(line) for log in logs for line in tail(log, 20))
