"""Sessions of a job with the gaps between them; start-up, processing and shut-down, and their
parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from forkrun.monitoring.records import RunRecords


class Session(Struct, frozen=True):
    """A parent from its start to its end [s since the epoch]. `outcome`: as reported by the parent,
    None if it was killed or still runs; `node`: of a job on many nodes."""

    start_s: float
    end_s: float
    n_events: int
    n_units: int
    outcome: str | None
    node: int | None = None


def describe_sessions(parts: Sequence[RunRecords]) -> tuple[Session, ...]:
    """Describes the sessions that have begun. `parts`: records of each."""
    return tuple(_describe(part) for part in parts if part.timeline)


def _describe(records: RunRecords) -> Session:
    end = records.last("job_end")
    start_s = min(records.times("job_start"), default=records.timeline[0].time_s)
    return Session(
        start_s=start_s,
        end_s=max(end_of(records) or start_s, start_s),
        n_events=sum(line.n_events for line in records.ledger),
        n_units=sum(line.n_units for line in records.ledger),
        outcome=None if end is None else str(end.details.get("outcome")),
    )


def end_of(records: RunRecords) -> float | None:
    """End of a session; time of the last record if it was cut off; None without records [s since
    the epoch]."""
    if ended := records.times("job_end"):
        return max(ended)
    known = [line.time_s for line in records.timeline[-1:]]
    known += [sample.time_s for sample in records.samples[-1:]]
    return max([*known, *(line.end_s for line in records.ledger)], default=None)


def gaps_between(sessions: Sequence[Session]) -> Iterator[tuple[float, float]]:
    """Times without a running session, in order: begin and end [s since the epoch]."""
    ordered = sorted(sessions, key=lambda session: session.start_s)
    ran_until_s = ordered[0].end_s if ordered else 0.0
    for session in ordered:
        if session.start_s > ran_until_s:
            yield ran_until_s, session.start_s
        ran_until_s = max(ran_until_s, session.end_s)


class Phases(Struct, frozen=True):
    """Durations [s]; None if an end is unknown.

    startup: a session's start to the last child's first event; processing: from then, when all
    children work, to the first child's end; shutdown: from then to the session's end. If children
    never all worked at once in a session, shutdown begins at the end of startup. So these three add
    up to `active_s`. startup = index + modules + fork + first_event; named parts of shutdown:
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
    """Time during which a child was between its first event and its end."""
    gaps_s: float = 0.0
    """Time between sessions; not part of any other time."""
    active_s: float | None = None
    """Lengths of all sessions, added up."""


def phases_of_sessions(parts: Sequence[RunRecords]) -> Phases:
    """Sums over the successive sessions of a job. `parts`: records of each."""
    gaps_s = length_of(gaps_between(describe_sessions(parts)))
    return replace(add_up([measure_phases(part) for part in parts]), gaps_s=gaps_s)


def phases_of_nodes(
    phases: Sequence[Phases], sessions: Sequence[Session], loops: Sequence[tuple[float, float]]
) -> Phases:
    """Sums over nodes, possibly simultaneous, and their collection. `loops`: event loops of all
    sessions, begin and end [s since the epoch]."""
    gaps_s = length_of(gaps_between(sessions))
    start_s = min((session.start_s for session in sessions), default=None)
    end_s = max((session.end_s for session in sessions), default=None)
    between = _between(start_s, end_s)
    return replace(
        add_up(phases),
        start_s=start_s,
        gaps_s=gaps_s,
        wall_s=None if between is None else between - gaps_s,
        event_loop_s=_covered(loops),
    )


def add_up(phases: Sequence[Phases]) -> Phases:
    """Sums of successive sessions, or of reports of a node; the start is that of the first."""
    sums: dict[str, Any] = {}
    for name in Phases.__struct_fields__:
        known = [value for each in phases if (value := getattr(each, name)) is not None]
        sums[name] = sum(known) if known else None
    return Phases(**{**sums, "start_s": phases[0].start_s if phases else None})


def _covered(ranges: Sequence[tuple[float, float]]) -> float | None:
    """Time covered by at least one range; None without ranges."""
    covered_s, until_s = 0.0, float("-inf")
    for begin_s, end_s in sorted(ranges):
        covered_s += max(end_s - max(begin_s, until_s), 0.0)
        until_s = max(until_s, end_s)
    return covered_s if ranges else None


def length_of(ranges: Iterable[tuple[float, float]]) -> float:
    """Sum of the lengths of ranges of time [s]."""
    return sum(end_s - begin_s for begin_s, end_s in ranges)


def measure_phases(records: RunRecords) -> Phases:
    """Phases of one session: from the timeline, and from the ledger for first and last events."""
    start_s, end_s = _first(records, "job_start"), end_of(records)
    first, last = first_events(records), last_commits(records)
    merge_s, last_s = _first(records, "merge_start"), max(last.values(), default=None)
    all_busy_s = max(first.values(), default=end_s if merge_s is None else merge_s)
    first_end_s = min(last.values(), default=end_s) if first else None
    known = [time_s for time_s in (first_end_s, all_busy_s) if time_s is not None]
    one_idle_s = max(known, default=None)
    startup = _steps(startup_ends(records), start_s, all_busy_s)
    return Phases(
        start_s=start_s,
        wall_s=_between(start_s, end_s),
        active_s=_between(start_s, end_s),
        startup_s=_between(start_s, all_busy_s),
        processing_s=_between(all_busy_s, one_idle_s) if first else None,
        shutdown_s=_between(one_idle_s, end_s) if start_s is not None else None,
        index_s=startup.get("index and plan"),
        modules_s=startup.get("modules and conditions"),
        fork_s=startup.get("fork"),
        first_event_s=startup.get("first event") if first else None,
        last_children_s=None if last_s is None else _between(one_idle_s, last_s),
        merge_s=_between(merge_s, _last(records, "merge_end")),
        event_loop_s=_between(min(first.values(), default=None), last_s),
    )


def startup_ends(records: RunRecords) -> dict[str, float | None]:
    """End of each step of a session's start [s since the epoch]. Forks end with the last child
    forked for the first time: a child that died is forked again."""
    lines = [line for line in records.timeline if line.event in ("fork", "child_started")]
    starts = {line.child: line.time_s for line in reversed(lines)}  # by the parent, or by the child
    return {
        "index and plan": _first(records, "index_done"),
        "modules and conditions": _first(records, "modules_built"),
        "fork": max(starts.values(), default=None),
    }


def _steps(
    ends: Mapping[str, float | None], start_s: float | None, all_busy_s: float | None
) -> dict[str, float]:
    """Lengths of the steps and of the rest, "first event"; they add up to the start-up."""
    if start_s is None or all_busy_s is None:
        return {}
    lengths, at_s = {}, start_s
    for name, end_s in ends.items():
        if end_s is not None:
            until_s = max(min(end_s, all_busy_s), at_s)
            lengths[name], at_s = until_s - at_s, until_s
    return {**lengths, "first event": all_busy_s - at_s}


def parent_steps(records: RunRecords) -> Iterator[tuple[str, float, float]]:
    """Steps of one session's parent outside the children's work: name, begin and end [s since the
    epoch]."""
    start_s = _first(records, "job_start")
    if start_s is not None:
        for name, end_s in startup_ends(records).items():
            if end_s is not None:
                yield name, start_s, max(end_s, start_s)
                start_s = max(end_s, start_s)
    begin_s, end_s = _first(records, "merge_start"), _last(records, "merge_end")
    if begin_s is not None and end_s is not None:
        yield "merge", begin_s, end_s


def first_events(records: RunRecords) -> dict[int, float]:
    """Time of each child's first event [s since the epoch]: from the ledger, or from the parent for
    a child without commits."""
    seen: dict[int, float] = {}
    for line in records.timeline:
        if line.event == "child_first_event" and line.child is not None:
            seen.setdefault(line.child, line.time_s)
    for unit in reversed(records.ledger):
        seen[unit.child] = unit.start_s
    return seen


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


def _between(start_s: float | None, end_s: float | None) -> float | None:
    return None if start_s is None or end_s is None else max(end_s - start_s, 0.0)
