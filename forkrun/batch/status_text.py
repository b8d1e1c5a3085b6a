"""The status of a job on many nodes, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from forkrun.base.quantities import bar, clock, count, percent, plural
from forkrun.base.user_text import printable
from forkrun.batch.course import read_submissions
from forkrun.batch.logs import error_of_merge, existing_logs, tail
from forkrun.batch.status import MISSING, JobStatus, NodeStatus, State, missing_lines
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.lock import is_held

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
