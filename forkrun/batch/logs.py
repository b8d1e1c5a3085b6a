"""Logs of nodes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from forkrun.batch.course import NodeJobs
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.packing import find_in_batch, read_batch

_TAIL_BYTES = 16_384
_OUT_OF_MEMORY = re.compile(
    r"oom[-_ ]?kill|out[ _]of[ _]memory|memory cgroup|memory limit", re.IGNORECASE
)
_MOST_LINES = 1000
SCANCELLED = "slurm: the job was cancelled"
"""Last words of a node whose job Slurm does not queue again."""
_MARK = "--- forkrun: submission "
_HELD = "012"
_ENDS_OF_HTCONDOR = ("007 ", "009 ", "012 ", "021 ", "022 ", "024 ")
"""Events in HTCondor's log: shadow exception, removed, held, remote error, disconnected, lost."""


def submission_mark(submission: NodeJobs) -> str:
    """Line of a node's log at which a submission begins."""
    return f"{_MARK}{submission.number}"


def existing_logs(folder: RunDirectory, number: int, submission: NodeJobs | None) -> list[Path]:
    """Existing logs of a node: its own, then the batch system's for this submission."""
    own = folder.batch_log(number)
    logs = find_in_batch(own.parent, own.name)
    if submission and number in submission.nodes:
        place = submission.nodes.index(number)
        name = f"{submission.on}-{submission.number}-*_{place}.log"
        logs += find_in_batch(own.parent, name)[-1:]
    return logs


def tail(log: Path, n_lines: int) -> list[str]:
    """The last lines of a file, which may be packed."""
    return read_batch(log, _TAIL_BYTES).decode(errors="replace").splitlines()[-n_lines:]


def _last(log: Path, submission: NodeJobs | None, n_lines: int) -> list[str]:
    """Last lines of the last process of this submission."""
    lines = tail(log, _MOST_LINES)
    marks = [number for number, line in enumerate(lines) if line.startswith(_MARK)]
    if marks and (submission is None or lines[marks[-1]] == submission_mark(submission)):
        lines = lines[marks[-1] + 1 :]
    elif marks:
        lines = []
    return lines[-n_lines:]


def last_words(
    folder: RunDirectory, number: int, submission: NodeJobs | None, *, errors_alone: bool = False
) -> str:
    """Why a node failed: its last error, the batch system's reason, or its last line; "" if there
    is none. `errors_alone`: does not take its last line for a reason."""
    for log in reversed(existing_logs(folder, number, submission)):
        lines = [line for line in _last(log, submission, 50) if line.strip()]
        if log.name.startswith("htcondor-"):
            lines = errors = _ends(lines)
        else:
            errors = [line for line in lines if line.startswith(("forkrun:", "slurmstepd:"))]
        if found := errors or ([] if errors_alone else lines):
            return found[-1].removeprefix("forkrun: ")
    return ""


def _ends(lines: Sequence[str]) -> list[str]:
    """Ends of a job and their reasons in HTCondor's log: `009 (…) DATE TIME TEXT`, then lines that
    begin with a tab. A held job is removed later: the reason is that for holding it."""
    ends: dict[str, str] = {}
    for number, line in enumerate(lines):
        if line.startswith(_ENDS_OF_HTCONDOR):
            what = line.split(maxsplit=4)[-1].rstrip(".")
            why = lines[number + 1 : number + 2]
            told = f"{what}: {why[0].strip()}" if why and why[0][:1] == "\t" else what
            ends[line[:3]] = f"htcondor: {told}"
    return [ends[_HELD]] if _HELD in ends else list(ends.values())


def error_of_merge(folder: RunDirectory) -> str:
    """Error of the last merge job, or its last line; "" if its log is empty."""
    if not folder.merge_log.exists():
        return ""
    lines = [line for line in tail(folder.merge_log, 50) if line.strip()]
    errors = [line for line in lines if line.startswith("forkrun:")]
    return (errors or lines)[-1].removeprefix("forkrun: ") if lines else ""


def reports_exceeded_memory(folder: RunDirectory, number: int, submission: NodeJobs | None) -> bool:
    """Whether a log reports exceeded memory."""
    logs = existing_logs(folder, number, submission)
    return any(_OUT_OF_MEMORY.search(line) for log in logs for line in _last(log, submission, 20))
