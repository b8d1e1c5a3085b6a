"""State of each node, from ledgers and files, and its text for people; a batch system only tells
which jobs are alive."""

from __future__ import annotations

import re
import signal
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from forkrun.base.quantities import bar, clock, count, percent, plural
from forkrun.base.user_text import printable
from forkrun.batch.course import (
    SCANCELLED,
    NodeCourse,
    NodeJobs,
    error_of_merge,
    existing_logs,
    last_words,
    read_course,
    read_kills,
    read_submissions,
    reports_exceeded_memory,
    tail,
)
from forkrun.batch.systems.choose import system_of
from forkrun.batch.systems.script import merge_script
from forkrun.batch.systems.system import Alive, Life
from forkrun.errors import OutOfTimeError
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.done import is_node_done
from forkrun.rundir.lock import is_held
from forkrun.rundir.nodes import NodeRanges, makes_outputs_on_nodes
from forkrun.rundir.progress import KnownProgress, RunProgress


class State(StrEnum):
    """State of a node."""

    DONE = "done"
    RUNNING = "running"
    WAITING = "waiting"
    ENDED_EARLY = "ended early"
    """Out of time or evicted, and not requeued: exit code 9."""
    CANCELLED = "cancelled"
    """Ended by `forkrun kill`, `scancel`, `condor_rm` or another SIGTERM."""
    FAILED = "failed"
    LOST = "lost"
    """Its job has ended without giving a reason."""
    NOT_SUBMITTED = "not submitted"
    UNKNOWN = "unknown"
    """Not done; the batch system does not answer."""


_CLOCKS_S = 30.0
"""Possible difference between the clocks of machines."""
MISSING = (State.ENDED_EARLY, State.CANCELLED, State.FAILED, State.LOST, State.NOT_SUBMITTED)
"""States of nodes that will not finish unless resubmitted."""


_TERMINATED, _KILLED = 128 + signal.SIGTERM, 128 + signal.SIGKILL
_OF_KILLS = (None, OutOfTimeError.exit_code, _TERMINATED, _KILLED)
"""Exit codes of nodes that were asked to end."""
_BY_SIGTERM = "SIGTERM ended it: scancel, condor_rm or the batch system"
_BY_SLURM = re.compile(r"CANCELLED AT \S+(?: DUE [Tt][Oo] (?P<why>[A-Z ]+?))? \*\*\*")
_WHY_EARLY = (None, "TIME LIMIT", "PREEMPTION")
"""Reasons for which Slurm ends jobs on living machines; None: at somebody's request."""


class NodeStatus(Struct, frozen=True):
    """`rate`: events per second of its present parent, 0 without one; `n_starts`: parents so far;
    `reason`: why it failed, or why it may never begin."""

    number: int
    state: State
    n_units: int
    n_units_planned: int
    n_events: int
    n_events_planned: int
    n_left_out: int
    rate: float
    n_starts: int
    host: str
    code: int | None
    reason: str


class JobStatus(Struct, frozen=True):
    """`answers`: whether all batch systems answered; `is_collected`: whether outputs were merged;
    `wants_merge`: whether a merge job was submitted, `merges`: whether it waits or runs."""

    nodes: tuple[NodeStatus, ...]
    answers: bool
    is_collected: bool
    wants_merge: bool = False
    merges: bool = False

    def total(self, column: str) -> float:
        """Sum of a number over the nodes."""
        return float(sum(getattr(node, column) for node in self.nodes))

    def count(self, *states: State) -> int:
        """Nodes in these states."""
        return sum(node.state in states for node in self.nodes)

    def __repr__(self) -> str:
        states = [(self.count(state), state) for state in State]
        nodes = ", ".join(f"{n:,} {state}" for n, state in states if n)
        done, planned = (int(self.total(name)) for name in ("n_events", "n_events_planned"))
        return f"<JobStatus: nodes: {nodes or 'none'}; {done:,} of {plural(planned, 'event')}>"

    @property
    def is_over(self) -> bool:
        """Whether no node and no merge runs or waits, as far as is known."""
        return not (self.merges or self.count(State.RUNNING, State.WAITING, State.UNKNOWN))

    @property
    def time_left_s(self) -> float | None:
        """Time until all nodes are done, if running ones keep their speed; None: unknown."""
        rate = self.total("rate")
        left = self.total("n_events_planned") - self.total("n_events") - self.total("n_left_out")
        if not left:
            return 0.0
        if not rate:
            return None
        at_work = [node for node in self.nodes if node.rate]
        slowest = max((n.n_events_planned - n.n_events) / n.rate for n in at_work)
        return max(left / rate, slowest)


def read_status(folder: RunDirectory, ranges: NodeRanges) -> JobStatus:
    """Present state of the job. Waits some seconds for a batch system that does not answer."""
    submissions = read_submissions(folder)
    lives = _lives(folder, submissions)
    last = {node: s for s in submissions if not s.problem for node in s.nodes}
    known, kills = KnownProgress(folder), read_kills(folder)
    makes_outputs = makes_outputs_on_nodes(folder)
    nodes = tuple(
        _node(
            folder, ranges, number, last.get(number), lives, known, kills.get(number, 0.0),
            makes_outputs,
        )
        for number in range(len(ranges))
    )  # fmt: skip
    known.keep()
    merging = [s for s in submissions if not s.problem and merge_script(folder, s).exists()]
    merges, is_collected = _merges(folder, merging), folder.is_finished()
    answers = lives is not None and merges is not None
    return JobStatus(nodes, answers, is_collected, bool(merging), bool(merges))


def _merges(folder: RunDirectory, submissions: Sequence[NodeJobs]) -> bool | None:
    """Whether a merge of these submissions waits or runs; None if a batch system does not
    answer."""
    said = [
        system_of(on).merges(folder, [s for s in submissions if s.on == on])
        for on in sorted({submission.on for submission in submissions})
    ]
    return True if True in said else None if None in said else False


def _lives(folder: RunDirectory, submissions: Sequence[NodeJobs]) -> Mapping[int, Alive] | None:
    """States of all nodes known to batch systems; None if one does not answer."""
    lives: dict[int, Alive] = {}
    for on in sorted({submission.on for submission in submissions}):
        own = [s for s in submissions if s.on == on and not s.problem]
        known = system_of(on).lives(folder, own)
        if known is None:
            return None
        lives |= known
    return lives


def _node(
    folder: RunDirectory,
    ranges: NodeRanges,
    number: int,
    submission: NodeJobs | None,
    lives: Mapping[int, Alive] | None,
    known: KnownProgress,
    killed_s: float,
    makes_outputs: bool,
) -> NodeStatus:
    course, node = read_course(folder, number), folder.node(number)
    since_s = course.starts[-1] if course.starts else 0.0
    progress = known.read(number, since_s)
    n_planned = ranges.n_units(number)
    is_done = is_node_done(folder, ranges, number, progress.n_units, makes_outputs=makes_outputs)
    is_alive = not is_done and is_held(node.lock)
    state = _state(is_done, is_alive, number, submission, lives, course, killed_s)
    reason = _reason(folder, number, state, submission, lives, course, killed_s)
    if state in (State.LOST, State.ENDED_EARLY) and (told := state_from_log(reason)):
        state = told
    return NodeStatus(
        number,
        state,
        progress.n_units,
        n_planned,
        progress.n_events,
        ranges.n_events[number],
        progress.n_skipped,
        _rate(progress, since_s) if state is State.RUNNING else 0.0,
        len(course.starts),
        course.host,
        course.last_code,
        reason,
    )


def _reason(
    folder: RunDirectory,
    number: int,
    state: State,
    submission: NodeJobs | None,
    lives: Mapping[int, Alive] | None,
    course: NodeCourse,
    killed_s: float,
) -> str:
    """Why a node is missing, or waits; "" if the reason is unknown or usual."""
    if state is State.WAITING and lives:
        return lives[number].why
    if state not in MISSING or submission is None:
        return ""
    if state is State.CANCELLED:
        who = "forkrun kill" if _is_killed(course, submission, killed_s) else _BY_SIGTERM
        return who + (" before it began" if not _has_begun(course, submission) else "")
    is_lost = state is State.LOST
    said = last_words(folder, number, submission, errors_alone=is_lost)
    if course.last_code == _KILLED and not reports_exceeded_memory(folder, number, submission):
        return "SIGKILL ended it, possibly for lack of memory" + (
            f"; last line of its log: {said}" if said else ""
        )
    return said or ("its job ended without a reason; it may have been killed" if is_lost else "")


def state_from_log(said: str) -> State | None:
    """How the batch system ended a node's job, according to the log; None: unknown."""
    if "condor_rm" in said or SCANCELLED in said:
        return State.CANCELLED
    found = _BY_SLURM.search(said)
    if found is None or found["why"] not in _WHY_EARLY:
        return None
    return State.ENDED_EARLY if found["why"] else State.CANCELLED


def _state(
    is_done: bool,
    is_alive: bool,
    number: int,
    submission: NodeJobs | None,
    lives: Mapping[int, Alive] | None,
    course: NodeCourse,
    killed_s: float,
) -> State:
    """State from files first, then from the batch system. Pure."""
    if is_done:
        return State.DONE
    if is_alive:
        return State.RUNNING
    if submission is None:
        return State.NOT_SUBMITTED
    if lives is None:
        return State.UNKNOWN
    if number in lives:
        return State.RUNNING if lives[number].life is Life.RUNNING else State.WAITING
    return _ended(course, submission, killed_s)


def _has_begun(course: NodeCourse, submission: NodeJobs) -> bool:
    """Whether a parent has begun since it was submitted."""
    return bool(course.starts) and course.starts[-1] >= submission.time_s - _CLOCKS_S


def _is_killed(course: NodeCourse, submission: NodeJobs, killed_s: float) -> bool:
    """Whether `forkrun kill` was called since it was submitted, and since its parent began."""
    begun_s = course.starts[-1] if _has_begun(course, submission) else 0.0
    return killed_s >= max(submission.time_s, begun_s - _CLOCKS_S)


def _ended(course: NodeCourse, submission: NodeJobs, killed_s: float) -> State:
    has_begun, is_killed = (
        _has_begun(course, submission), _is_killed(course, submission, killed_s),
    )  # fmt: skip
    code = course.last_code if has_begun else None
    if (is_killed and code in _OF_KILLS) or code == _TERMINATED:
        return State.CANCELLED
    if code is None:
        return State.LOST
    return State.ENDED_EARLY if code == OutOfTimeError.exit_code else State.FAILED


def _rate(progress: RunProgress, since_s: float) -> float:
    """Events per second since the parent began."""
    elapsed_s = time.time() - since_s
    return progress.n_events_since / elapsed_s if since_s and elapsed_s > 0 else 0.0


def missing_lines(status: JobStatus) -> Iterator[str]:
    """A line for each state of unfinished nodes."""
    for state in State:
        numbers = [node.number for node in status.nodes if node.state is state]
        if numbers and state is not State.DONE:
            shown = ", ".join(map(str, numbers[:10])) + (", …" if len(numbers) > 10 else "")
            yield f"{state}: {len(numbers)} ({shown})"


_SHOWN = 5
_LINES = 3


def status_lines(folder: RunDirectory, status: JobStatus) -> Iterator[str]:
    """Progress, the states of nodes, and why the first of them failed."""
    done, planned = status.total("n_events"), status.total("n_events_planned")
    fraction = done / planned if planned else 1.0
    yield f"{folder.path}"
    yield f"{bar(fraction, 30)} {count(done)} of {plural(planned, 'event')} ({percent(fraction)})"
    yield (
        f"{count(status.count(State.DONE))} of {plural(len(status.nodes), 'node')} done;"
        f" {count(status.total('n_units'))} of {plural(status.total('n_units_planned'), 'unit')}"
    )
    if status.total("rate"):
        left = "an unknown time" if status.time_left_s is None else clock(status.time_left_s)
        yield f"{count(status.total('rate'))} events per second; {left} left"
    if n_left_out := int(status.total("n_left_out")):
        yield f"left out, as they crash the child: {plural(n_left_out, 'event')}"
    yield from missing_lines(status)
    yield from _waits(status)
    yield from _cancellations(status)
    if not status.answers:
        yield "the batch system does not answer: it is unknown which nodes wait or have ended"
    yield from _failures(folder, status)
    yield from _what_next(folder, status)


def _waits(status: JobStatus) -> Iterator[str]:
    """Reasons of waiting nodes that may never begin."""
    waiting = [node for node in status.nodes if node.state is State.WAITING and node.reason]
    for reason in sorted({node.reason for node in waiting}):
        n = sum(node.reason == reason for node in waiting)
        yield f"{plural(n, 'node')} may never begin: {printable(reason)}"


def _cancellations(status: JobStatus) -> Iterator[str]:
    """Reasons of nodes that were stopped."""
    who = Counter(node.reason for node in status.nodes if node.state is State.CANCELLED)
    for reason, n in sorted(who.items()):
        yield f"{plural(n, 'node')} cancelled: {printable(reason)}"


def _failures(folder: RunDirectory, status: JobStatus) -> Iterator[str]:
    failed = [n for n in status.nodes if n.state in (State.FAILED, State.LOST)]
    for node in failed[:_SHOWN]:
        yield from _failure(folder, node)
    if len(failed) > _SHOWN:
        yield f"and {len(failed) - _SHOWN} more: --json"


def _failure(folder: RunDirectory, node: NodeStatus) -> Iterator[str]:
    code = "" if node.code is None else f", exit code {node.code}"
    reason = printable(node.reason) or "its log says nothing"
    yield f"node {node.number} {node.state}{code}: {reason}"
    last = {n: s for s in read_submissions(folder) for n in s.nodes}
    for log in existing_logs(folder, node.number, last.get(node.number)):
        yield f"  {log}:"
        yield from (f"    {printable(line)}" for line in tail(log, _LINES))


def _what_next(folder: RunDirectory, status: JobStatus) -> Iterator[str]:
    if status.is_collected:
        yield f"collected: its outputs are in {folder.output}"
    elif is_held(folder.lock):
        yield "it is being merged, or another forkrun is working there"
    elif status.merges:
        is_done = status.count(State.DONE) == len(status.nodes)
        what = "waits in the batch system, or runs" if is_done else "begins when they have ended"
        yield f"the merge {what}; its log: {folder.merge_log}"
    elif status.count(State.DONE) == len(status.nodes):
        if status.wants_merge or folder.merge_log.exists():
            said = error_of_merge(folder) or "its job ended without a reason"
            yield f"the merge failed: {printable(said)}"
        yield f"all nodes are done: forkrun collect {folder.quoted}"
    elif status.count(*MISSING):
        yield f"forkrun resubmit {folder.quoted} submits the missing nodes"
