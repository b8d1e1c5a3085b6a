"""Which run computed each result: exactly one for each event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from forkrun.monitoring.records import RunRecords
from forkrun.monitoring.report.event_counts import EventCounts, add_digests
from forkrun.rundir.ledger import Commit
from forkrun.rundir.results import Origin, origins_of


class ResultOrigins(Struct, frozen=True):
    """A histogram, output or cutflow. `runs`: the runs that processed its events; the last one is
    the present run, unless the result `is_kept`. `digests_agree`: whether these events are those
    that the whole job has read, each once; None: unknown."""

    name: str
    is_kept: bool
    runs: tuple[Origin, ...]
    digests_agree: bool | None


def summarize_results(records: RunRecords, events: EventCounts) -> tuple[ResultOrigins, ...]:
    """The results of a job that keeps stored ones; empty if nothing is stored or requested."""
    earlier = records.earlier
    covered = _digests(records.commits)
    found = []
    for result in earlier.run.results:
        is_kept = earlier.run.keeps(*result.key)
        parts, own = earlier.parts_of(result), () if is_kept else records.ledger
        digest = add_digests([*(part.events for part in parts), *_digests(own)])
        is_unknown = events.is_partial or (is_kept and not parts)
        runs = (*origins_of(parts), *_of_this_run(own))
        agree = None if is_unknown else digest == add_digests(covered)
        found.append(ResultOrigins(result.name, is_kept, runs, agree))
    return tuple(found)


def _digests(commits: Sequence[Commit]) -> list[str]:
    return [digest for c in commits for digest in (c.digest, c.skipped_digest)]


def _of_this_run(commits: Sequence[Commit]) -> list[Origin]:
    n_events = Counter[str]()
    for commit in commits:
        n_events[commit.build] += commit.n_events
    end_s = max((commit.end_s for commit in commits), default=0.0)
    return [Origin(end_s, build, n) for build, n in n_events.items()]
