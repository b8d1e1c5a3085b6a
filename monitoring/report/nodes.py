"""Reports of the nodes of a job, each on its own part."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec import MsgspecError, Struct, convert
from msgspec.json import Decoder
from msgspec.structs import replace

from forkrun.base.json_lines import read_json_lines
from forkrun.base.quantities import plural
from forkrun.base.regular_file import read_regular
from forkrun.errors import InputError
from forkrun.monitoring.records import read_records
from forkrun.monitoring.report.children import ChildSummary
from forkrun.monitoring.report.memory import MemorySummary, of_nodes, summarize_memory
from forkrun.monitoring.report.phases import (
    Phases,
    Session,
    add_up,
    describe_sessions,
    gaps_between,
    length_of,
    phases_of_sessions,
)
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit
from forkrun.rundir.nodes import NodeRanges, is_on_nodes

_WANTED = re.compile(r"(report|timing)\.json")


class _Report(Struct, frozen=True):
    """Fields read from a report.json; earlier builds have no sessions."""

    job: Mapping[str, Any]
    phases: Phases
    memory: Mapping[str, Any] | None = None
    warnings: tuple[str, ...] = ()
    recovery: tuple[Mapping[str, Any], ...] = ()
    sessions: tuple[Session, ...] = ()


class NodeSummary(Struct, frozen=True):
    """A node: its sessions, with times since the epoch, and the work committed by its children.
    `host`: of the last session; `phases`: sums over its sessions; `memory`: None without samples;
    `first_event_s`, `end_s`: since the job's start; `n_deaths`: of its children; `submitted_s`:
    times of its submissions, since the epoch; `queue_s`: from each to the next start, added up;
    None: unknown."""

    node: int
    host: str | None
    outcome: str | None
    sessions: tuple[Session, ...]
    gaps_s: float
    phases: Phases | None
    memory: MemorySummary | None
    event_loop_s: float | None = None
    n_units: int = 0
    n_events: int = 0
    first_event_s: float | None = None
    end_s: float | None = None
    processing_s: float = 0.0
    cpu_s: float = 0.0
    read_bytes: int = 0
    n_deaths: int = 0
    submitted_s: tuple[float, ...] = ()
    queue_s: float | None = None


class _Submission(Struct, frozen=True):
    """Fields read from a line of `submitted.jsonl`; a refusal has no nodes."""

    number: int
    time_s: float = 0.0
    nodes: tuple[int, ...] = ()
    problem: str = ""


class NodeReports(Struct, frozen=True):
    """Reports of all nodes. `n_nodes`: of the job, reported or not; `n_children`: of each node;
    `timings`: contents of their timing.json."""

    n_nodes: int
    n_children: int
    nodes: tuple[NodeSummary, ...] = ()
    warnings: tuple[str, ...] = ()
    recovery: tuple[Mapping[str, Any], ...] = ()
    timings: tuple[Mapping[str, Any], ...] = ()

    @property
    def sessions(self) -> tuple[Session, ...]:
        """Sessions of all nodes, in order."""
        all_of_them = (session for node in self.nodes for session in node.sessions)
        return tuple(sorted(all_of_them, key=lambda session: session.start_s))

    @property
    def memory(self) -> MemorySummary | None:
        """Memory of the node with the highest peak, and sums."""
        known = {node.node: node.memory for node in self.nodes if node.memory is not None}
        return of_nodes(known, self.n_nodes)


def read_node_reports(folder: RunDirectory) -> NodeReports | None:
    """Reads files left by nodes, packed or not; nodes without files are left out. None for a job
    that is not on many nodes."""
    if not is_on_nodes(folder):
        return None
    ranges = NodeRanges.read(folder)
    nodes, timings, said, recovery = [], [], Counter[str](), []
    first: dict[str, int] = {}
    for number in range(len(ranges)):
        reports, timing = _read_node(folder.node(number))
        if not reports:
            nodes += _of_records(folder.node(number), number)
            continue
        nodes.append(_summary(number, reports))
        timings += [timing] if timing else []
        for text in dict.fromkeys(text for report in reports for text in report.warnings):
            first.setdefault(text, number)
            said[text] += 1
        before = ranges.children * number
        recovery += [_placed(line, number, before) for r in reports for line in r.recovery]
    warnings = [_warning(text, first[text], n, len(ranges)) for text, n in said.items()]
    nodes = [*_with_queues(nodes, folder)]
    found = tuple(nodes), tuple(warnings), tuple(recovery), tuple(timings)
    return NodeReports(len(ranges), ranges.children, *found)


def _with_queues(nodes: Iterable[NodeSummary], folder: RunDirectory) -> Iterator[NodeSummary]:
    """Adds when nodes were submitted, and for how long they waited."""
    lines = []
    for line in read_json_lines(folder.submissions, []):
        with suppress(MsgspecError):
            lines.append(convert(line, _Submission))
    refused = {each.number for each in lines if each.problem}
    times: dict[int, list[float]] = {}
    for each in lines:
        for node in () if each.number in refused else each.nodes:
            times.setdefault(node, []).append(each.time_s)
    for summary in nodes:
        submitted_s = sorted(times.get(summary.node, ()))
        starts = [session.start_s for session in summary.sessions]
        begun = [
            (min(s for s in starts if s >= at), at)
            for at in submitted_s
            if starts and at <= starts[-1]
        ]
        waits = [start_s - at for start_s, at in dict(begun).items()]
        queue_s = sum(waits) if waits else None
        yield replace(summary, submitted_s=tuple(submitted_s), queue_s=queue_s)


def _of_records(node: RunDirectory, number: int) -> list[NodeSummary]:
    """Summary from the records of a node that was killed before it could report; empty if it has
    not begun."""
    try:
        records = read_records(node.path)
    except InputError:
        return []
    parts = records.sessions()
    sessions = [replace(each, node=number) for each in describe_sessions(parts)]
    if not sessions:
        return []
    return [
        NodeSummary(
            node=number,
            host=(records.host or {}).get("name"),
            outcome=None,
            sessions=tuple(sessions),
            gaps_s=length_of(gaps_between(sessions)),
            phases=phases_of_sessions(parts),
            memory=summarize_memory(records),
        )
    ]


def _read_node(node: RunDirectory) -> tuple[list[_Report], Mapping[str, Any] | None]:
    """Reports of a node, the last one at the end, and its timing: a restarted node has packed its
    earlier files."""
    reports, timing = [], None
    for name, content in _contents(node):
        with suppress(MsgspecError):
            if name == "report.json":
                reports.append(_DECODE(content))
            else:
                timing = _DECODE_ANY(content)
    return reports, timing


_DECODE = Decoder(_Report).decode
_DECODE_ANY = Decoder(dict[str, Any]).decode


def _contents(node: RunDirectory) -> Iterator[tuple[str, bytes]]:
    from forkrun.rundir.packing import read_members  # few jobs have nodes

    archives = sorted(node.path.glob("records*.tar"), key=lambda path: (len(path.name), path))
    for archive in archives:
        for member, content in read_members(archive, _WANTED):
            yield member.name, content.read()
    for place in (node.report_json, node.timing):
        with suppress(OSError):
            yield place.name, read_regular(place)


def _summary(number: int, reports: Sequence[_Report]) -> NodeSummary:
    known = {session.start_s: session for report in reports for session in report.sessions}
    sessions = tuple(replace(known[start_s], node=number) for start_s in sorted(known))
    memories = [convert(r.memory, MemorySummary) for r in reports if r.memory is not None]
    return NodeSummary(
        node=number,
        host=(reports[-1].job.get("host") or {}).get("name"),
        outcome=reports[-1].job.get("outcome"),
        sessions=sessions,
        gaps_s=length_of(gaps_between(sessions)),
        phases=add_up([report.phases for report in reports]),
        memory=max(memories, key=lambda memory: memory.peak.pss_bytes, default=None),
    )


def with_work(
    reports: NodeReports,
    children: Sequence[ChildSummary],
    commits: Iterable[Commit],
    deaths: Iterable[int | None],
) -> tuple[NodeSummary, ...]:
    """All nodes that have reported or committed something, with the work of their children.
    `deaths`: numbers of the children that died."""
    loops = event_loops(commits, reports)
    n_deaths = Counter(child // reports.n_children for child in deaths if child is not None)
    own: dict[int, list[ChildSummary]] = {}
    for child in children:
        own.setdefault(child.child // reports.n_children, []).append(child)
    known = {node.node: node for node in reports.nodes}
    unknown = {n: NodeSummary(n, None, None, (), 0.0, None, None) for n in loops}
    return tuple(
        _with_work(node, own.get(number, []), loops.get(number, []), n_deaths[number])
        for number, node in sorted({**unknown, **known}.items())
    )


def _with_work(
    node: NodeSummary,
    children: Sequence[ChildSummary],
    loops: Sequence[tuple[float, float]],
    n_deaths: int,
) -> NodeSummary:
    begun = [child.first_event_s for child in children if child.first_event_s is not None]
    ended = [child.end_s for child in children if child.end_s is not None]
    return replace(
        node,
        event_loop_s=length_of(loops) if loops else None,
        n_units=sum(child.n_units for child in children),
        n_events=sum(child.n_events for child in children),
        first_event_s=min(begun, default=None),
        end_s=max(ended, default=None),
        processing_s=sum(child.processing_s for child in children),
        cpu_s=sum(child.cpu_s for child in children),
        read_bytes=sum(child.read_bytes for child in children),
        n_deaths=n_deaths,
    )


def event_loops(
    commits: Iterable[Commit], reports: NodeReports
) -> dict[int, list[tuple[float, float]]]:
    """Event loops of each node, one per session: from the first event to the last commit [s since
    the epoch]."""
    starts = {node.node: [each.start_s for each in node.sessions] for node in reports.nodes}
    loops: dict[int, dict[int, tuple[float, float]]] = {}
    for commit in commits:
        node = commit.child // reports.n_children
        session = bisect_right(starts.get(node, []), commit.start_s)
        begin_s, end_s = loops.setdefault(node, {}).get(session, (commit.start_s, commit.end_s))
        loops[node][session] = min(begin_s, commit.start_s), max(end_s, commit.end_s)
    return {node: list(each.values()) for node, each in loops.items()}


def _placed(line: Mapping[str, Any], node: int, n_before: int) -> Mapping[str, Any]:
    """A line in terms of the whole job, whose children are numbered continuously over nodes."""
    child = line.get("child")
    text = f"node {node}: {line.get('text', '')}"
    return {**line, "child": None if child is None else n_before + child, "text": text}


def _warning(text: str, first: int, n_nodes: int, n_all: int) -> str:
    if n_nodes == n_all:
        return text
    more = f" and {plural(n_nodes - 1, 'more node')}" if n_nodes > 1 else ""
    return f"node {first}{more}: {text}"
