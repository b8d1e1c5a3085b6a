"""Memory per process from the samples of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from msgspec import Struct

from forkrun.errors import JobError
from forkrun.monitoring.records import Sample, read_records
from forkrun.monitoring.report.memory_curves import complete_samples


class ProcessMemory(Struct, frozen=True):
    """Memory of a process [bytes], or the mean over several. `private`: USS."""

    pss_bytes: float
    rss_bytes: float
    private_bytes: float
    shared_bytes: float
    anonymous_bytes: float
    pss_anonymous_bytes: float

    @property
    def files_bytes(self) -> float:
        """Pages of files: code and constants of libraries."""
        return self.rss_bytes - self.anonymous_bytes


class Forked(Struct, frozen=True):
    """A parent and all its children at one time. `children`: their mean; `anonymous_pss_bytes`: of
    all together."""

    n_children: int
    anonymous_pss_bytes: float
    parent: ProcessMemory
    children: ProcessMemory
    min_private_bytes: float
    max_private_bytes: float


class Moment(Struct, frozen=True):
    """Mean memory of the processes present. `time_s` since the first sample."""

    time_s: float
    n_processes: int
    private_bytes: float
    shared_bytes: float


def mean_memory(samples: Sequence[Sample] | Sequence[ProcessMemory]) -> ProcessMemory:
    """Mean over processes."""
    return ProcessMemory(
        *(fmean(getattr(sample, name) for sample in samples)
          for name in ProcessMemory.__struct_fields__)
    )  # fmt: skip


def forked_memory(run_dir: Path, n_children: int) -> Forked:
    """Memory at peak use, with all children present and events processed by each. Raises JobError
    without a complete sample of that time: the job is too short."""
    groups = [
        group
        for group in complete_samples(read_records(run_dir).samples)
        if _all_have_worked(group, n_children)
    ]
    if not groups:
        raise JobError(
            f"measure memory: the {n_children} children were not seen all at work together: the job"
            " is too short, or has too few lumis; give it more events, or ask for fewer children"
        )
    group = max(groups, key=_anonymous_pss)
    children = [sample for sample in group if sample.child is not None]
    private = [sample.private_bytes for sample in children]
    return Forked(
        n_children=n_children,
        anonymous_pss_bytes=_anonymous_pss(group),
        parent=mean_memory([sample for sample in group if sample.child is None]),
        children=mean_memory(children),
        min_private_bytes=min(private),
        max_private_bytes=max(private),
    )


def _anonymous_pss(group: Sequence[Sample]) -> int:
    return sum(sample.pss_anonymous_bytes for sample in group)


def _all_have_worked(group: Sequence[Sample], n_children: int) -> bool:
    children = [sample for sample in group if sample.child is not None]
    return len(children) == n_children and all(sample.n_events_done for sample in children)


def separate_memory(run_dir: Path) -> tuple[ProcessMemory, ProcessMemory]:
    """Memory of a job in one process: at the start of its event loop, and at the peak of its own
    memory."""
    samples = read_records(run_dir).samples
    if not samples:
        raise JobError(f"measure memory: no sample was taken of the process of {run_dir}")
    most = max(samples, key=lambda sample: sample.anonymous_bytes)
    return mean_memory(samples[:1]), mean_memory([most])


def memory_per_child(run_dir: Path) -> list[Moment]:
    """Mean over the children for each complete sample."""
    groups = complete_samples(read_records(run_dir).samples)
    start_s = min((sample.time_s for group in groups for sample in group), default=0.0)
    moments = []
    for group in groups:
        children = [sample for sample in group if sample.child is not None]
        if children:
            memory = mean_memory(children)
            moments.append(
                Moment(
                    group[-1].time_s - start_s,
                    len(children),
                    memory.private_bytes,
                    memory.shared_bytes,
                )
            )
    return moments


def memory_of_process(run_dir: Path) -> list[Moment]:
    """Memory against time of a job in one process."""
    samples = read_records(run_dir).samples
    return [
        Moment(s.time_s - samples[0].time_s, 1, s.private_bytes, s.shared_bytes) for s in samples
    ]
