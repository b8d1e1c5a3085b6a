"""History of nodes: submissions, when their parents began, and how they ended. Lines of JSON, each
appended by one write."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct, convert
from msgspec.structs import asdict

from forkrun.base.durable import output_errors, write_bytes
from forkrun.base.json_lines import JsonLines, read_json_lines
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.packing import read_batch


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
