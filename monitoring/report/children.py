"""What each child did, and how evenly: utilization and dispersion."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from msgspec import Struct

from forkrun.monitoring.records import RunRecords, Sample, TimelineLine
from forkrun.monitoring.report.phases import first_events, last_commits
from forkrun.rundir.ledger import Commit


class ChildSummary(Struct, frozen=True):
    """One child. `n_units_planned`: None if units go to any idle child. `processing_s` is the sum
    of its units' times; first event and end count from the
    job's start; memory is that of its samples (None: none was taken)."""

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
    peak_pss_bytes: int | None
    peak_uss_bytes: int | None
    end_pss_bytes: int | None
    end_uss_bytes: int | None
    end_shared_bytes: int | None
    end_rss_bytes: int | None


class Spread(Struct, frozen=True):
    """Spread of one value over the children. `relative_std`: population standard deviation over
    mean."""

    min_s: float
    max_s: float
    range_s: float
    mean_s: float
    relative_std: float | None


class Balance(Struct, frozen=True):
    """Utilization is 1 when all children are busy until the last one ends."""

    utilization: float | None
    processing_times: Spread | None
    end_times: Spread | None


def summarize_children(
    records: RunRecords, last: RunRecords | None = None
) -> tuple[ChildSummary, ...]:
    """One summary per child of the job, also of those that had nothing to do. `last`: records of
    the last session, of a job that was resumed; a child of that number may have been a process of
    each."""
    seen = _group(records, records if last is None else last)
    start_s = min(records.times("job_start"), default=min(seen.first_s.values(), default=0.0))
    children = sorted({*range(records.n_children), *seen.units})
    return tuple(_summarize(records, seen, child, start_s) for child in children)


class _ByChild(Struct, frozen=True):
    """Records of each child; a job on many nodes has thousands. Times since the epoch.
    `last_exits`, `has_ended`: of the last session. `n_planned`:
    units, None if they go to any idle child; `samples` of a job without children: of the parent,
    which does its work."""

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


def measure_balance(sessions: Sequence[Sequence[ChildSummary]]) -> Balance:
    """utilization = (sum of processing times) / (longest) / (number of children); of several
    sessions the mean, weighted with the longest time of each. Times at which children ended are
    those of the last one."""
    shares = [(utilization(times), max(times, default=0.0)) for times in map(_times, sessions)]
    known = [(share, longest_s) for share, longest_s in shares if share is not None]
    all_s = sum(longest_s for _, longest_s in known)
    times = [sum(of_child) for of_child in zip_longest(*map(_times, sessions), fillvalue=0.0)]
    ends = [child.end_s for child in sessions[-1] if child.end_s is not None]
    return Balance(
        sum(share * longest_s for share, longest_s in known) / all_s if known else None,
        spread(times) if any(times) else None,
        spread(ends),
    )


def _times(children: Sequence[ChildSummary]) -> list[float]:
    return [child.processing_s for child in children]


def utilization(processing_s: Sequence[float]) -> float | None:
    """Mean over longest processing time of the children; None if nothing was processed."""
    longest = max(processing_s, default=0.0)
    return sum(processing_s) / longest / len(processing_s) if longest > 0 else None


def spread(values_s: Sequence[float]) -> Spread | None:
    """Spread of the values; None if there are none."""
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
    """Words, and whether they are bad news: of a session before the last one they are not."""
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
