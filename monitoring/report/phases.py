"""Start-up, processing and shut-down of a job, and their parts."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from forkrun.monitoring.records import RunRecords
from forkrun.monitoring.report.sessions import Session, describe_sessions, gaps_between


class Phases(Struct, frozen=True):
    """Durations [s]; None where an end is not known.

    startup: job start to the last child's first event; shutdown: the first child's end to the job's
    end; processing: between them, when all children work. They may overlap in a very short job:
    processing is 0 then. startup = index + modules + fork + first_event; of shutdown are named
    `last_children_s` (the first child's end to the last one's) and `merge_s`."""

    start_s: float | None
    wall_s: float | None
    startup_s: float | None
    processing_s: float | None
    shutdown_s: float | None
    index_s: float | None
    modules_s: float | None
    fork_s: float | None
    first_event_s: float | None
    last_children_s: float | None
    merge_s: float | None
    event_loop_s: float | None
    """Time from the first event of any child to the end of the last one."""
    gaps_s: float = 0.0
    """Time between sessions, in which nothing ran: no part of any other."""


def phases_of_sessions(parts: Sequence[RunRecords]) -> Phases:
    """Sums over the sessions of a job. `parts`: records of each."""
    phases = [measure_phases(part) for part in parts]
    gaps_s = sum(end_s - begin_s for begin_s, end_s in gaps_between(describe_sessions(parts)))
    names = [name for name in Phases.__struct_fields__ if name not in ("start_s", "gaps_s")]
    sums = {name: _sum_of_known([getattr(each, name) for each in phases]) for name in names}
    return Phases(start_s=phases[0].start_s, gaps_s=gaps_s, **sums)


def phases_of_nodes(records: RunRecords, sessions: Sequence[Session]) -> Phases:
    """Phases of a job on many nodes, whose sessions overlap. It begins with the first of them;
    where none ran, before the job was collected as well, is a gap."""
    phases = _beginning_with(sessions, measure_phases(records))
    merge = [line.time_s for line in records.timeline if line.event == "merge_start"]
    own = [Session(merge[-1], _end(records) or merge[-1], 0, 0, None)] if merge else []
    gaps = list(gaps_between([*sessions, *own]))
    last_s = max((session.end_s for session in sessions), default=0.0)
    in_loops_s = sum(end_s - begin_s for begin_s, end_s in gaps if end_s <= last_s)
    return replace(
        phases,
        gaps_s=sum(end_s - begin_s for begin_s, end_s in gaps),
        wall_s=_less(phases.wall_s, sum(end_s - begin_s for begin_s, end_s in gaps)),
        event_loop_s=_less(phases.event_loop_s, in_loops_s),
        shutdown_s=_less(phases.shutdown_s, sum(e - b for b, e in gaps if e > last_s)),
    )


def _beginning_with(sessions: Sequence[Session], phases: Phases) -> Phases:
    """The same, where the records begin with the first event of a node."""
    if phases.start_s is None or not sessions:
        return phases
    start_s = min(phases.start_s, *(session.start_s for session in sessions))
    earlier_s = phases.start_s - start_s
    wall_s, startup_s = _less(phases.wall_s, -earlier_s), _less(phases.startup_s, -earlier_s)
    return replace(phases, start_s=start_s, wall_s=wall_s, startup_s=startup_s)


def _less(time_s: float | None, gaps_s: float) -> float | None:
    return None if time_s is None else max(time_s - gaps_s, 0.0)


def _sum_of_known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def measure_phases(records: RunRecords) -> Phases:
    """Phases of one session: from the timeline, and from the ledger for first and last events."""
    start = _first(records, "job_start")
    end = _end(records)
    index, modules = _first(records, "index_done"), _first(records, "modules_built")
    forked = max(_starts(records).values(), default=None)
    first, last = first_events(records), last_commits(records)
    all_busy, one_idle = max(first.values(), default=None), min(last.values(), default=None)
    processing = _between(all_busy, one_idle)
    return Phases(
        start_s=start,
        wall_s=_between(start, end),
        startup_s=_between(start, all_busy),
        processing_s=None if processing is None else max(processing, 0.0),
        shutdown_s=_between(one_idle, end),
        index_s=_between(start, index),
        modules_s=_between(index, modules),
        fork_s=_between(modules, forked),
        first_event_s=_between(forked, all_busy),
        last_children_s=_between(one_idle, max(last.values(), default=None)),
        merge_s=_between(_first(records, "merge_start"), _last(records, "merge_end")),
        event_loop_s=_between(min(first.values(), default=None), max(last.values(), default=None)),
    )


def first_events(records: RunRecords) -> dict[int, float]:
    """Time of each child's first event [s since the epoch]: from the ledger, or, if it committed
    nothing, when the parent saw it."""
    seen: dict[int, float] = {}
    for line in records.timeline:
        if line.event == "child_first_event" and line.child is not None:
            seen.setdefault(line.child, line.time_s)
    for unit in reversed(records.ledger):
        seen[unit.child] = unit.start_s
    return seen


def _starts(records: RunRecords) -> dict[int | None, float]:
    """Start time of each child: the earlier of its own record and its parent's."""
    lines = [line for line in records.timeline if line.event in ("fork", "child_started")]
    return {line.child: line.time_s for line in reversed(lines)}


def last_commits(records: RunRecords) -> dict[int, float]:
    """Time of each child's last commit [s since the epoch]."""
    last: dict[int, float] = {}
    for unit in records.ledger:
        last[unit.child] = max(unit.end_s, last.get(unit.child, unit.end_s))
    return last


def _first(records: RunRecords, event: str) -> float | None:
    return min(records.times(event), default=None)


def _last(records: RunRecords, event: str) -> float | None:
    return max(records.times(event), default=None)


def _end(records: RunRecords) -> float | None:
    """End of the job; for a job that was cut off, the time of its last record."""
    end = _last(records, "job_end")
    known = [line.time_s for line in records.timeline] + [s.time_s for s in records.samples[-1:]]
    return max(known, default=None) if end is None else end


def _between(start_s: float | None, end_s: float | None) -> float | None:
    return None if start_s is None or end_s is None else end_s - start_s
