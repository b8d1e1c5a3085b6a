"""History of nodes: submissions, when their parents began, how they ended, and their logs. Lines of
JSON, each appended by one write."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct, convert
from msgspec.structs import asdict

from forkrun.base.durable import output_errors, write_bytes
from forkrun.base.json_lines import JsonLines, read_json_lines
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.packing import find_in_batch, read_batch


class NodeJobs(Struct, frozen=True):
    """Jobs submitted together. `name`: their name in the batch system; `problem`: why they were
    refused; `time_limit_s`, `memory_bytes`: of each job, None: the batch system's default;
    `n_merge_parts`: jobs that make parts of the outputs before the merge, 0: the merge makes
    everything."""

    number: int
    on: str
    name: str
    nodes: tuple[int, ...]
    time_limit_s: float | None
    memory_bytes: int | None
    time_s: float
    host: str
    problem: str = ""
    n_merge_parts: int = 0


def read_submissions(folder: RunDirectory) -> list[NodeJobs]:
    """All submissions, in order. One without an answer counts as accepted; damaged lines are
    skipped."""
    known: dict[Any, dict[str, Any]] = {}
    for line in read_json_lines(folder.submissions, []):
        number = line.get("number")
        whole = {**(known.get(number, {}) if isinstance(number, int) else {}), **line}
        if _is_of_form(whole, NodeJobs):
            known[number] = whole
    return [convert(line, NodeJobs) for line in known.values()]


def _is_of_form(line: dict[str, Any], form: Any) -> bool:
    try:
        convert(line, form)
    except (ValueError, OverflowError):
        return False
    return True


def accepted_submissions(folder: RunDirectory) -> list[NodeJobs]:
    """Submissions that were not refused."""
    return [submission for submission in read_submissions(folder) if not submission.problem]


def note_submission(folder: RunDirectory, submission: NodeJobs) -> None:
    """Records a submission that is about to be made."""
    _append(folder.submissions, asdict(submission), folder)


def note_refusal(folder: RunDirectory, submission: NodeJobs, problem: str) -> None:
    """Records that none of these jobs exists."""
    _append(folder.submissions, {"number": submission.number, "problem": problem}, folder)


def note_kill(folder: RunDirectory, nodes: Sequence[int]) -> None:
    """Records that these nodes are asked to stop."""
    _append(folder.kills, {"time_s": time.time(), "nodes": list(nodes)}, folder)


def read_kills(folder: RunDirectory) -> dict[int, float]:
    """Time of the last request to stop, by node [s since the epoch]."""
    lines = [each for each in read_json_lines(folder.kills, []) if _is_of_form(each, _Kill)]
    return {int(node): float(line["time_s"]) for line in lines for node in line["nodes"]}


def _append(place: Any, line: dict[str, Any], folder: RunDirectory) -> None:
    with output_errors(folder.path), JsonLines(place) as lines:
        lines.append([line])


class _Kill(Struct, frozen=True):
    time_s: float
    nodes: tuple[int, ...]


class _Session(Struct, frozen=True):
    """A line about the start or the end of a node's parent."""

    time_s: float
    event: str
    n_units: int = 0
    code: int | None = None
    host: str = ""
    job: str = ""


class NodeCourse(Struct, frozen=True):
    """`starts`: when its parents began [s since the epoch]; `n_units`: committed by then; `codes`:
    exit codes in the order of `starts`, None where a parent did not report its end; `host`, `job`:
    of the last."""

    starts: tuple[float, ...] = ()
    n_units: tuple[int, ...] = ()
    codes: tuple[int | None, ...] = ()
    host: str = ""
    job: str = ""

    @property
    def last_code(self) -> int | None:
        """Exit code of the last parent; None if it is running, or died without reporting."""
        return self.codes[-1] if self.codes else None


def note_start(folder: RunDirectory, number: int, n_units: int, host: str, job: str) -> None:
    """Records the start of a parent, with the number of units committed before."""
    place = folder.node_ends(number)
    if not place.exists():
        with suppress(FileNotFoundError):
            write_bytes(place, read_batch(place), durable=False)
    line = {"event": "start", "time_s": time.time(), "n_units": n_units, "host": host, "job": job}
    _append(place, line, folder)


def note_end(folder: RunDirectory, number: int, code: int) -> None:
    """Records how a parent ended, as scripts of nodes do."""
    line = {"event": "end", "time_s": time.time(), "code": code}
    _append(folder.node_ends(number), line, folder)


def read_course(folder: RunDirectory, number: int) -> NodeCourse:
    """History of a node; damaged lines are skipped."""
    starts: list[dict[str, Any]] = []
    codes: list[int | None] = []
    for line in read_json_lines(folder.node_ends(number), [], read_batch):
        if not _is_of_form(line, _Session):
            continue
        if line.get("event") == "start":
            starts.append(line)
            codes.append(None)
        elif codes and codes[-1] is None:
            codes[-1] = line.get("code")
        else:  # it ended before it could begin
            starts.append({**line, "n_units": 0})
            codes.append(line.get("code"))
    last = starts[-1] if starts else {}
    return NodeCourse(
        tuple(float(s.get("time_s", 0)) for s in starts),
        tuple(int(s.get("n_units", 0)) for s in starts),
        tuple(codes),
        str(last.get("host", "")),
        str(last.get("job", "")),
    )


def next_number(submissions: Sequence[NodeJobs]) -> int:
    """Number of the next submission."""
    return max((s.number for s in submissions), default=-1) + 1


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
