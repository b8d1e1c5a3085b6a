"""Memory of parent and children together, against time."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from forkrun.monitoring.records import RunRecords, Sample


class MemoryTotals(Struct, frozen=True):
    """All processes of the job at one time. `time_s` since the epoch. Only `pss_bytes` and
    `private_bytes` are sizes of real memory; `shared_bytes` = PSS - private is what the processes
    have in common, counted once; `rss_bytes` counts it once per process."""

    time_s: float
    n_processes: int
    pss_bytes: int
    private_bytes: int
    shared_bytes: int
    rss_bytes: int


class MemorySummary(Struct, frozen=True):
    """`saving_bytes`: RSS - PSS, summed, at the peak of PSS: what as many separate processes would
    need in addition if they shared nothing. `node`: the one with the highest peak, of a job on
    many nodes."""

    peak: MemoryTotals
    end: MemoryTotals
    saving_bytes: int
    saving_fraction: float
    parent_peak_pss_bytes: int
    node: int | None = None


def complete_samples(samples: Sequence[Sample]) -> list[list[Sample]]:
    """Samples taken of all processes alive at the time, grouped, in order of time."""
    groups: dict[int, list[Sample]] = {}
    for sample in sorted(samples, key=lambda sample: sample.time_s):
        if sample.complete is not None:
            groups.setdefault(sample.complete, []).append(sample)
    return [group for group in groups.values() if len(group) == group[0].n_sampled]


def memory_against_time(samples: Sequence[Sample]) -> list[MemoryTotals]:
    """One value per complete sample."""
    return [add_up(group) for group in complete_samples(samples)]


def add_up(samples: Sequence[Sample]) -> MemoryTotals:
    """Totals of processes sampled together; the time is that of the last one."""
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


def memory_of_sessions(parts: Sequence[RunRecords]) -> MemorySummary | None:
    """Peak of all sessions of a job, and the end of the last one that was sampled."""
    known = [memory for memory in map(summarize_memory, parts) if memory is not None]
    if not known:
        return None
    highest = max(known, key=lambda memory: memory.peak.pss_bytes)
    parents = max(memory.parent_peak_pss_bytes for memory in known)
    return replace(highest, end=known[-1].end, parent_peak_pss_bytes=parents)


def summarize_memory(records: RunRecords) -> MemorySummary | None:
    """Memory of one session; None if nothing was sampled. "End" is the last complete sample while
    a child was alive."""
    totals = memory_against_time(records.samples)
    if not totals:
        return None
    peak = max(totals, key=lambda at: at.pss_bytes)
    with_children = [at for at in totals if at.n_processes > 1]
    saving = peak.rss_bytes - peak.pss_bytes
    parents = [sample.pss_bytes for sample in records.samples if sample.child is None]
    return MemorySummary(
        peak=peak,
        end=(with_children or totals)[-1],
        saving_bytes=saving,
        saving_fraction=saving / peak.rss_bytes,
        parent_peak_pss_bytes=max(parents, default=0),
    )
