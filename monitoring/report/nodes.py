"""What the nodes of a job have reported, each of its own part."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec import MsgspecError, Struct, convert
from msgspec.json import Decoder
from msgspec.structs import replace

from forkrun.base.quantities import plural
from forkrun.base.regular_file import read_regular
from forkrun.monitoring.report.memory import MemorySummary
from forkrun.monitoring.report.sessions import Session, gaps_between
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.nodes import NodeRanges, is_on_nodes

_WANTED = re.compile(r"(report|timing)\.json")


class _Report(Struct, frozen=True):
    """What is read here of a report.json; one of an earlier build has no sessions."""

    job: Mapping[str, Any]
    phases: Mapping[str, Any]
    memory: Mapping[str, Any] | None = None
    warnings: tuple[str, ...] = ()
    recovery: tuple[Mapping[str, Any], ...] = ()
    sessions: tuple[Session, ...] = ()


class NodeSummary(Struct, frozen=True):
    """A node: its sessions, with times since the epoch. `host`: of the last one; `memory`: None
    where nothing was sampled."""

    node: int
    host: str | None
    outcome: str | None
    sessions: tuple[Session, ...]
    gaps_s: float
    event_loop_s: float | None
    memory: MemorySummary | None


class NodeReports(Struct, frozen=True):
    """All that nodes have reported. `timings`: content of their timing.json."""

    nodes: tuple[NodeSummary, ...] = ()
    warnings: tuple[str, ...] = ()
    recovery: tuple[Mapping[str, Any], ...] = ()
    timings: tuple[Mapping[str, Any], ...] = ()

    @property
    def sessions(self) -> tuple[Session, ...]:
        """Those of all nodes, in order."""
        all_of_them = (session for node in self.nodes for session in node.sessions)
        return tuple(sorted(all_of_them, key=lambda session: session.start_s))

    @property
    def memory(self) -> MemorySummary | None:
        """That of the node with the highest peak."""
        known = [(node.memory, node.node) for node in self.nodes if node.memory is not None]
        if not known:
            return None
        memory, number = max(known, key=lambda each: each[0].peak.pss_bytes)
        return replace(memory, node=number)


def read_node_reports(folder: RunDirectory) -> NodeReports:
    """Reads what nodes have left, packed or not; a node that left nothing is not among them."""
    if not is_on_nodes(folder):
        return NodeReports()
    ranges = NodeRanges.read(folder)
    nodes, timings, said, recovery = [], [], Counter[str](), []
    first: dict[str, int] = {}
    for number in range(len(ranges)):
        reports, timing = _read_node(folder.node(number))
        if not reports:
            continue
        nodes.append(_summary(number, reports))
        timings += [timing] if timing else []
        for text in dict.fromkeys(text for report in reports for text in report.warnings):
            first.setdefault(text, number)
            said[text] += 1
        before = ranges.children * number
        recovery += [_placed(line, number, before) for r in reports for line in r.recovery]
    warnings = [_warning(text, first[text], n, len(ranges)) for text, n in said.items()]
    return NodeReports(tuple(nodes), tuple(warnings), tuple(recovery), tuple(timings))


def _read_node(node: RunDirectory) -> tuple[list[_Report], Mapping[str, Any] | None]:
    """Reports of a node, the last one at the end, and its timing: a node that was asked to work
    again has packed what it noted before."""
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
    loops = [report.phases.get("event_loop_s") for report in reports]
    known_s = [loop_s for loop_s in loops if loop_s is not None]
    return NodeSummary(
        node=number,
        host=(reports[-1].job.get("host") or {}).get("name"),
        outcome=reports[-1].job.get("outcome"),
        sessions=sessions,
        gaps_s=sum(end_s - begin_s for begin_s, end_s in gaps_between(sessions)),
        event_loop_s=sum(known_s) if known_s else None,
        memory=max(memories, key=lambda memory: memory.peak.pss_bytes, default=None),
    )


def _placed(line: Mapping[str, Any], node: int, n_before: int) -> Mapping[str, Any]:
    """As of the whole job, whose children are counted on from node to node."""
    child = line.get("child")
    text = f"node {node}: {line.get('text', '')}"
    return {**line, "child": None if child is None else n_before + child, "text": text}


def _warning(text: str, first: int, n_nodes: int, n_all: int) -> str:
    if n_nodes == n_all:
        return text
    more = f" and {plural(n_nodes - 1, 'more node')}" if n_nodes > 1 else ""
    return f"node {first}{more}: {text}"
