"""Work of each child, and its balance: utilization and dispersion."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from forkrun.base.quantities import plural, seconds
from forkrun.monitoring.records import RunRecords, Sample, TimelineLine
from forkrun.monitoring.report.phases import first_events, last_commits
from forkrun.rundir.ledger import Commit


class ChildSummary(Struct, frozen=True):
    """One child. `n_units_planned`: None if units go to any idle child. `processing_s`: sum of its
    units' times; first event and end count from the job's start; memory: from its samples (None: no
    samples)."""

    child: int
    pids: tuple[int, ...]
    status: str
    failed: bool
    n_units_planned: int | None
    n_units: int
    n_events: int
    first_event_s: float | None
    end_s: float | None
    processing_s: float
    rate_events_per_s: float | None
    cpu_s: float
    cpu_efficiency: float | None
    read_calls: int
    read_bytes: int
    cached_bytes: int
    peak_pss_bytes: int | None
    peak_uss_bytes: int | None
    end_pss_bytes: int | None
    end_uss_bytes: int | None
    end_shared_bytes: int | None
    end_rss_bytes: int | None


class Spread(Struct, frozen=True):
    """Spread of one value over the children. `relative_std`: population standard deviation divided
    by mean."""

    min_s: float
    max_s: float
    range_s: float
    mean_s: float
    relative_std: float | None


class LateChild(Struct, frozen=True):
    """The child that ended last: its delay after the first one, and what was different about it, in
    words."""

    child: int
    after_s: float
    reasons: tuple[str, ...]


class Balance(Struct, frozen=True):
    """Utilization is 1 when all children are busy until the last one ends. `end_times`, `late`: of
    children that worked at the same time: of the last session, or on the node where they differ
    most."""

    utilization: float | None
    processing_times: Spread | None
    end_times: Spread | None
    late: LateChild | None = None


def summarize_children(
    records: RunRecords,
    last: RunRecords | None = None,
    *,
    n_children: int | None = None,
    start_s: float | None = None,
) -> tuple[ChildSummary, ...]:
    """Summaries of all children of the job, also of idle ones. `last`: records of the last session
    of a resumed job; one child may have been a process of each session. `n_children`, `start_s`: if
    different from the records'."""
    seen = _group(records, records if last is None else last)
    begin_s = records.start_s if start_s is None else start_s
    numbers = range(records.n_children if n_children is None else n_children)
    return tuple(
        _summarize(records, seen, child, begin_s) for child in sorted({*numbers, *seen.units})
    )


class _ByChild(Struct, frozen=True):
    """Records grouped by child; a job on many nodes has thousands. Times since the epoch.
    `last_exits`, `has_ended`: of the last session. `n_planned`: units, None if they go to any idle
    child; `samples`: in a job without children those of the parent, which does the work."""

    units: Mapping[int, Sequence[Commit]]
    samples: Mapping[int, Sequence[Sample]]
    exits: Mapping[int | None, TimelineLine]
    last_exits: Mapping[int | None, TimelineLine]
    has_ended: bool
    n_planned: Mapping[int, int] | None
    first_s: Mapping[int, float]
    last_s: Mapping[int, float]


def _group(records: RunRecords, last: RunRecords) -> _ByChild:
    units: dict[int, list[Commit]] = {}
    for unit in records.ledger:
        units.setdefault(unit.child, []).append(unit)
    samples: dict[int, list[Sample]] = {}
    without_children = records.plan.get("children") == 0
    for sample in records.samples:
        child = 0 if without_children and sample.child is None else sample.child
        if child is not None:
            samples.setdefault(child, []).append(sample)
    of_units = np.array(records.plan.get("units", {}).get("child", []), dtype=np.int64)
    is_fixed = bool((of_units >= 0).all())
    return _ByChild(
        units,
        samples,
        _exits(records),
        _exits(last),
        last.last("job_end") is not None,
        Counter(of_units.tolist()) if is_fixed else None,
        first_events(records),
        last_commits(records),
    )


def _exits(records: RunRecords) -> dict[int | None, TimelineLine]:
    return {line.child: line for line in records.timeline if line.event == "child_exit"}


def measure_balance(
    groups: Sequence[Sequence[ChildSummary]], commits: Sequence[Commit] = (), n_deaths: int = 0
) -> Balance:
    """Utilization = (sum of processing times) / (longest × children, summed over groups). `groups`:
    children that worked at the same time: in each session, or on each node; `commits`: explain why
    a child ended late, unless children died: others then repeated their work."""
    times = [[child.processing_s for child in group] for group in groups]
    available_s = sum(max(each, default=0.0) * len(each) for each in times)
    of_child: dict[int, float] = {}
    for child in (child for group in groups for child in group):
        of_child[child.child] = of_child.get(child.child, 0.0) + child.processing_s
    is_resumed = len(of_child) < sum(map(len, groups))
    last = groups[-1] if is_resumed else max(groups, key=_range_of_ends)
    return Balance(
        math.fsum(map(math.fsum, times)) / available_s if available_s else None,
        spread(list(of_child.values())) if available_s else None,
        spread(_ends(last)),
        late_child(last, commits, n_deaths),
    )


def _ends(children: Sequence[ChildSummary]) -> list[float]:
    return [child.end_s for child in children if child.end_s is not None]


def _range_of_ends(children: Sequence[ChildSummary]) -> float:
    ends = _ends(children)
    return max(ends) - min(ends) if ends else 0.0


_PART = 0.5
"""Smallest share of the delay that a reason must explain."""
_SLOWER, _MORE = 0.85, 1.15


def late_child(
    children: Sequence[ChildSummary], commits: Sequence[Commit], n_deaths: int = 0
) -> LateChild | None:
    """The child that ended last, and what was different about it. None for fewer than two
    children."""
    ended = [child for child in children if child.end_s is not None and child.n_events]
    if len(ended) < 2:
        return None
    late = max(ended, key=lambda child: child.end_s or 0.0)
    after_s = (late.end_s or 0.0) - min(child.end_s or 0.0 for child in ended)
    others = [child for child in ended if child is not late]
    last = max(
        (commit for commit in commits if commit.child == late.child),
        key=lambda commit: commit.end_s,
        default=None,
    )
    if n_deaths:
        return LateChild(late.child, after_s, (f"after {plural(n_deaths, 'death')} of children",))
    return LateChild(late.child, after_s, tuple(_reasons(late, others, last, after_s)))


def _reasons(
    late: ChildSummary, others: Sequence[ChildSummary], last: Commit | None, after_s: float
) -> Iterator[str]:
    begun_s = (late.first_event_s or 0.0) - min(child.first_event_s or 0.0 for child in others)
    if begun_s > _PART * after_s:
        yield f"it began {seconds(begun_s)} s after the first to begin"
    if last is not None and last.duration_s > _PART * after_s:
        n = last.n_events
        events = f"{plural(n, 'event')}, committed together," if n > 1 else "event"
        yield f"its last {events} took {seconds(last.duration_s)} s"
    rate = sum(each.n_events for each in others) / sum(each.processing_s for each in others)
    own = late.rate_events_per_s or 0.0
    if own < _SLOWER * rate:
        yield f"its events took longer, {own:,.0f} events/s against {rate:,.0f} of the others"
    mean = sum(each.n_events for each in others) / len(others)
    if late.n_units_planned is not None and late.n_events > _MORE * mean:
        yield f"it had {plural(late.n_events, 'event')}, the others {mean:,.0f} on average"


def utilization(processing_s: Sequence[float]) -> float | None:
    """Mean divided by longest processing time of the children; None if nothing was processed."""
    longest = max(processing_s, default=0.0)
    return sum(processing_s) / longest / len(processing_s) if longest > 0 else None


def spread(values_s: Sequence[float]) -> Spread | None:
    """Spread of the values; None without values."""
    if not values_s:
        return None
    low, high, mean = min(values_s), max(values_s), math.fsum(values_s) / len(values_s)
    std = math.sqrt(math.fsum((value - mean) ** 2 for value in values_s) / len(values_s))
    return Spread(low, high, high - low, mean, std / mean if mean > 0 else None)


def _summarize(records: RunRecords, seen: _ByChild, child: int, start_s: float) -> ChildSummary:
    units, samples = seen.units.get(child, ()), seen.samples.get(child, ())
    processing_s = math.fsum(unit.duration_s for unit in units)
    cpu_s = math.fsum(unit.cpu_s for unit in units)
    threads = int(records.config.get("threads", {}).get("per_child", 1))
    n_events = sum(unit.n_events for unit in units)
    status, failed = _status(seen, child)
    return ChildSummary(
        child=child,
        pids=tuple(dict.fromkeys([*(u.pid for u in units), *(s.pid for s in samples)])),
        status=status,
        failed=failed,
        n_units_planned=None if seen.n_planned is None else seen.n_planned.get(child, 0),
        n_units=sum(unit.n_units for unit in units),
        n_events=n_events,
        first_event_s=_since(seen.first_s.get(child), start_s),
        end_s=_since(seen.last_s.get(child), start_s),
        processing_s=processing_s,
        rate_events_per_s=n_events / processing_s if processing_s > 0 else None,
        cpu_s=cpu_s,
        cpu_efficiency=cpu_s / processing_s / threads if processing_s > 0 else None,
        read_calls=sum(unit.read_calls for unit in units),
        read_bytes=sum(unit.read_bytes for unit in units),
        cached_bytes=sum(unit.cached_bytes for unit in units),
        **_memory(samples),
    )


def _memory(samples: Sequence[Sample]) -> dict[str, Any]:
    end = samples[-1] if samples else None
    return {
        "peak_pss_bytes": max((sample.pss_bytes for sample in samples), default=None),
        "peak_uss_bytes": max((sample.uss_bytes for sample in samples), default=None),
        "end_pss_bytes": end and end.pss_bytes,
        "end_uss_bytes": end and end.uss_bytes,
        "end_shared_bytes": end and end.shared_bytes,
        "end_rss_bytes": end and end.rss_bytes,
    }


def _status(seen: _ByChild, child: int) -> tuple[str, bool]:
    """Status in words, and whether it is a failure; failures in earlier sessions do not count."""
    end = seen.last_exits.get(child)
    if end is not None:
        return _ended(end)
    if not seen.has_ended:
        return "running", False
    before = seen.exits.get(child)
    return ("-" if before is None else f"{_ended(before)[0]}, in an earlier session", False)


def _ended(end: TimelineLine) -> tuple[str, bool]:
    code = end.details.get("exit_code", 0)
    status = end.details.get("status")
    failed = bool(end.details.get("failed", code != 0))
    return str(status or (f"exit code {code}" if code else "done")), failed


def _since(time_s: float | None, start_s: float) -> float | None:
    return None if time_s is None else time_s - start_s
