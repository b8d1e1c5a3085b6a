"""Sessions of a job on all nodes, and the gaps between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

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
