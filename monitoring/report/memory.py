"""Memory of parent and children together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from forkrun.base.quantities import plural
from forkrun.monitoring.records import RunRecords, Sample, complete_samples, once
from forkrun.monitoring.report.memory_curves import Life, Totals, lives_and_totals


class MemoryTotals(Struct, frozen=True):
    """All processes of the job at one time. `time_s` since the epoch. Only `pss_bytes` and
    `private_bytes` are sizes of real memory; `shared_bytes` = PSS - private is the common memory,
    counted once; `rss_bytes` counts it once per process."""

    time_s: float
    n_processes: int
    pss_bytes: int
    private_bytes: int
    shared_bytes: int
    rss_bytes: int


class MemoryPart(Struct, frozen=True):
    """Memory of the parent (no `children`), a child, or several of similar size, at the peak: sums,
    and the median and highest private memory of one."""

    name: str
    children: tuple[int, ...]
    private_bytes: int
    median_bytes: int
    highest_bytes: int
    rss_bytes: int


class MemorySummary(Struct, frozen=True):
    """`saving_bytes`: RSS - PSS, summed, at the peak of PSS: the additional memory of as many
    separate processes without sharing; so private, shared and saving add up to RSS. `is_at_least`:
    the job may have had more, since a process ended unseen, or the kernel reports a higher value
    between two samples. `node`: the one with the highest peak, of a job on many nodes;
    `all_nodes_bytes`, `all_nodes_saving_bytes`: sums of all peaks and savings there. `parts`:
    private memory at the peak, by process. `limit_bytes`: `limits.memory`."""

    peak: MemoryTotals
    end: MemoryTotals
    saving_bytes: int
    saving_fraction: float
    parent_peak_pss_bytes: int
    is_at_least: bool = False
    node: int | None = None
    all_nodes_bytes: int | None = None
    all_nodes_saving_bytes: int | None = None
    parts: tuple[MemoryPart, ...] = ()
    limit_bytes: int | None = None


def of_nodes(memories: Mapping[int, MemorySummary], n_nodes: int) -> MemorySummary | None:
    """Memory of the node with the highest peak, with sums over nodes; None if no node reported
    any."""
    if not memories:
        return None
    node = max(memories, key=lambda number: memories[number].peak.pss_bytes)
    is_missing = len(memories) < n_nodes
    return replace(
        memories[node],
        is_at_least=is_missing or any(each.is_at_least for each in memories.values()),
        node=node,
        all_nodes_bytes=sum(each.peak.pss_bytes for each in memories.values()),
        all_nodes_saving_bytes=sum(each.saving_bytes for each in memories.values()),
    )


def memory_against_time(records: RunRecords) -> list[MemoryTotals]:
    """Totals of each complete sample."""
    return [add_up(group) for group in complete_samples(records)]


def add_up(samples: Sequence[Sample]) -> MemoryTotals:
    """Totals of processes sampled together, at the time of the last one."""
    pss = sum(sample.pss_bytes for sample in samples)
    private = sum(sample.private_bytes for sample in samples)
    return MemoryTotals(
        time_s=samples[-1].time_s,
        n_processes=len(samples),
        pss_bytes=pss,
        private_bytes=private,
        shared_bytes=pss - private,
        rss_bytes=sum(sample.rss_bytes for sample in samples),
    )


@once
def summarize_memory(records: RunRecords) -> MemorySummary | None:
    """Memory of all sessions; None if no process was sampled. "End": the last complete sample with
    a live child."""
    if not records.samples:
        return None
    lives, totals, has_spike = lives_and_totals(records)
    peak = _at(totals, int(np.argmax(totals.pss)))
    sampled = memory_against_time(records)
    with_children = [at for at in sampled if at.n_processes > 1]
    saving = peak.rss_bytes - peak.pss_bytes
    parents = [sample.pss_bytes for sample in records.samples if sample.child is None]
    return MemorySummary(
        peak=peak,
        end=[peak, *sampled, *with_children][-1],
        saving_bytes=saving,
        saving_fraction=saving / peak.rss_bytes if peak.rss_bytes else 0.0,
        parent_peak_pss_bytes=max(parents, default=0),
        is_at_least=has_spike or _has_unsampled_child(records),
        parts=tuple(_parts(lives, peak.time_s)),
        limit_bytes=(records.config.get("limits") or {}).get("memory"),
    )


_MOST_ALONE = 10
_OUTLIERS = 4


def _parts(lives: Sequence[Life], time_s: float) -> Iterator[MemoryPart]:
    """Memory of the parent, then of children: 0 if not alive at that time."""
    values: dict[int | None, tuple[float, float]] = {life.child: (0.0, 0.0) for life in lives}
    for life in lives:
        private, rss = values[life.child]
        if life.time_s[0] <= time_s <= life.end_s:
            private += float(np.interp(time_s, life.time_s, life.private))
            rss += float(np.interp(time_s, life.time_s, life.rss))
        values[life.child] = private, rss
    own = {child: value[0] for child, value in values.items() if child is not None}
    bands: list[tuple[str, tuple[int, ...]]] = [("parent", ()), *_bands(own)]
    for name, children in bands:
        found = [values[child] for child in children or (None,) if child in values]
        each_bytes = [each[0] for each in found] or [0.0]
        yield MemoryPart(
            name,
            children,
            round(sum(each_bytes)),
            round(median(each_bytes)),
            round(max(each_bytes)),
            round(sum(each[1] for each in found)),
        )


def _bands(private: Mapping[int, float]) -> list[tuple[str, tuple[int, ...]]]:
    """Names and children of each part: single children if they are few; else the quarter with
    least, the half between, the quarter with most, and up to _OUTLIERS far above these."""
    if len(private) <= _MOST_ALONE:
        return [(f"child {child}", (child,)) for child in sorted(private)]
    ordered = sorted(private, key=lambda child: private[child])
    low, high = np.quantile(list(private.values()), (0.25, 0.75))
    far = [
        c for c in ordered[-_OUTLIERS:] if private[c] > high + max(1.5 * (high - low), 0.1 * high)
    ]
    near, quarter = ordered[: len(ordered) - len(far)], len(ordered) // 4
    bands = near[:quarter], near[quarter:-quarter], near[-quarter:]
    words = ("with least", "between", "with most")
    named = [
        (f"{plural(len(b), 'child')} {w}", tuple(b)) for b, w in zip(bands, words, strict=True)
    ]
    return [*named, *((f"child {child}", (child,)) for child in far)]


def _at(totals: Totals, place: int) -> MemoryTotals:
    private, shared = round(totals.private[place]), round(totals.shared[place])
    return MemoryTotals(
        time_s=float(totals.time_s[place]),
        n_processes=int(totals.n_processes[place]),
        pss_bytes=private + shared,
        private_bytes=private,
        shared_bytes=shared,
        rss_bytes=max(round(totals.rss[place]), private + shared),
    )


def _has_unsampled_child(records: RunRecords) -> bool:
    """Whether a child took no sample of itself, so that its memory at the end is unknown, or no
    other, so that its memory before is unknown."""
    forked = {line.details.get("pid") for line in records.timeline if line.event == "fork"}
    at_end = {sample.pid for sample in records.samples if sample.own_cost_s}
    before = {sample.pid for sample in records.samples if not sample.own_cost_s}
    return not forked <= at_end & before
