"""Forked children against separate processes of the same job: memory shared, private and saved, and
its text."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from msgspec import Struct, to_builtins

from forkrun.base.quantities import megabytes, percent, plural
from forkrun.config.model import JobConfig
from forkrun.errors import ConfigError, JobError
from forkrun.monitoring.records import Sample, complete_samples, read_records
from forkrun.monitoring.report.memory_detail import MemoryDetail
from forkrun.monitoring.report.sections import memory_detail
from forkrun.monitoring.tables import Table, text_of
from forkrun.rundir.directory import RunDirectory
from forkrun.studies.frame.jobs import RunningJob, run_jobs


class Mix(Struct, frozen=True):
    """Memory [bytes] of a job: the part of each process that forked children can share, the private
    part, and file pages (libraries), which separate processes share, too."""

    shared_bytes: float
    private_bytes: float
    files_bytes: float = 0.0

    def separate_bytes(self, n_processes: int) -> float:
        """Memory of `n_processes` separate processes."""
        return n_processes * (self.shared_bytes + self.private_bytes) + self.files_bytes

    def forked_bytes(self, n_children: int) -> float:
        """Memory of children that share everything shareable."""
        return self.shared_bytes + n_children * self.private_bytes + self.files_bytes

    def ideal_saving(self, n_children: int) -> float:
        """The largest possible saving, as a fraction of the memory of separate processes. Without
        file pages it is (N - 1) shared / (N (shared + private))."""
        return saving(self.forked_bytes(n_children), self.separate_bytes(n_children))


def saving(forked_bytes: float, separate_bytes: float) -> float:
    """Fraction saved by forking."""
    return 1.0 - forked_bytes / separate_bytes if separate_bytes > 0 else 0.0


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
        for group in complete_samples(read_records(run_dir))
        if _all_have_worked(group, n_children)
    ]
    if not groups:
        raise JobError(
            f"measure memory: the {plural(n_children, 'child')}"
            f" {'was' if n_children == 1 else 'were'} not seen all at work together: the job is too"
            " short, or has too few lumis; give it more events, or ask for fewer children"
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
    groups = complete_samples(read_records(run_dir))
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


# The measurement may take CPU time, unlike a production job.
_SAMPLING = ("monitoring.sampling_cost=0.5", "monitoring.exact_pss=true", "monitoring.timing=false")


class Separate(Struct, frozen=True):
    """Separate processes, each of which loaded everything itself. `start`: at the time when a
    parent would have forked; `most`: at the peak of its own memory; means."""

    n_processes: int
    start: ProcessMemory
    most: ProcessMemory

    @property
    def mix(self) -> Mix:
        """Mix of the job: memory at the start can be shared; later growth is private."""
        growth = self.most.anonymous_bytes - self.start.anonymous_bytes
        return Mix(self.start.anonymous_bytes, max(growth, 0.0), self.most.files_bytes)


class MemoryMeasurement(Struct, frozen=True):
    """The whole measurement. `reference`: the requested mix of the reference case."""

    name: str
    forked: Forked
    separate: Separate
    children_against_time: Sequence[Moment]
    separate_against_time: Sequence[Moment]
    reference: Mix | None = None

    @property
    def forked_bytes(self) -> float:
        """Memory of parent and children: PSS of anonymous memory, and file pages counted once. (PSS
        of files depends on other programs on the machine.)"""
        return self.forked.anonymous_pss_bytes + self.separate.mix.files_bytes

    @property
    def separate_bytes(self) -> float:
        """Memory of as many separate processes as children: a sum, with file pages counted once."""
        return self.separate.mix.separate_bytes(self.forked.n_children)

    @property
    def saving(self) -> float:
        """The measured saving, as a fraction."""
        return saving(self.forked_bytes, self.separate_bytes)

    @property
    def ideal_saving(self) -> float:
        """The arithmetic limit for this mix."""
        return self.separate.mix.ideal_saving(self.forked.n_children)

    @property
    def unshared_bytes(self) -> float:
        """Private memory of a child beyond what it needs."""
        return self.forked.children.private_bytes - self.separate.mix.private_bytes

    def to_json(self) -> dict[str, Any]:
        """Sizes in bytes, savings as fractions."""
        n = self.forked.n_children
        return {
            "name": self.name,
            "n_children": n,
            "forked": to_builtins(self.forked),
            "separate": {**to_builtins(self.separate), "mix": to_builtins(self.separate.mix)},
            "total_forked_bytes": self.forked_bytes,
            "total_separate_bytes": self.separate_bytes,
            "total_ideal_bytes": self.separate.mix.forked_bytes(n),
            "saving": self.saving,
            "ideal_saving": self.ideal_saving,
            "reference_saving": self.reference and self.reference.ideal_saving(n),
            "unshared_bytes_per_child": self.unshared_bytes,
            "children_against_time": to_builtins(self.children_against_time),
            "separate_against_time": to_builtins(self.separate_against_time),
        }


def measure_memory(
    config: JobConfig,
    folder: Path,
    n_separate: int,
    say: Callable[[str], None],
    reference: Mix | None = None,
) -> MemoryMeasurement:
    """Runs the job with its children, then `n_separate` concurrent processes that each do the work
    of one child. `folder` must exist; it gets all run directories. Raises the job's errors,
    JobError if memory runs out or the job is too short."""
    n_children = config.forking.children
    if n_children < 1 or n_separate < 1:
        raise ConfigError("measure memory: at least one child and one separate process are needed")
    forked = _run_forked(config, folder, say)
    separate = _run_separate(config, folder, n_separate, forked, say)
    return MemoryMeasurement(
        name=config.job.name,
        forked=forked_memory(forked, n_children),
        separate=_separate(separate),
        children_against_time=memory_per_child(forked),
        separate_against_time=memory_of_process(separate[0]),
        reference=reference,
    )


def _run_forked(config: JobConfig, folder: Path, say: Callable[[str], None]) -> Path:
    n_children = config.forking.children
    say(f"{plural(n_children, 'forked child')} …")
    job = RunningJob(config, folder / "forked", _SAMPLING)
    run_jobs([job], f"the job with {plural(n_children, 'child')}")
    return job.folder


def _run_separate(
    config: JobConfig, folder: Path, n_separate: int, forked: Path, say: Callable[[str], None]
) -> list[Path]:
    say(f"{plural(n_separate, 'separate process')} …")
    n_events = json.loads(RunDirectory(forked).plan.read_bytes())["n_events"]
    share = max(n_events // config.forking.children, 1)
    jobs = [
        RunningJob(
            config,
            folder / f"separate-{number:03d}",
            (
                *_SAMPLING,
                "forking.children=0",
                f"source.skip_events={config.source.skip_events + number * share}",
                f"source.max_events={share}",
            ),
        )
        for number in range(n_separate)
    ]
    run_jobs(jobs, plural(n_separate, "separate process"))
    return [job.folder for job in jobs]


def _separate(run_dirs: Sequence[Path]) -> Separate:
    both = [separate_memory(run_dir) for run_dir in run_dirs]
    return Separate(
        n_processes=len(run_dirs),
        start=mean_memory([start for start, _ in both]),
        most=mean_memory([most for _, most in both]),
    )


def print_measured(measured: MemoryMeasurement | MemoryDetail, n_rows: int) -> None:
    """Prints a result. `n_rows`: most rows of a table."""
    if isinstance(measured, MemoryDetail):
        print(text_of(memory_detail(to_builtins(measured), n_rows)))
    else:
        _print_memory(measured)


def _print_memory(measurement: MemoryMeasurement) -> None:
    """Prints memory per process, totals and saving."""
    print(text_of([_processes(measurement), _totals(measurement)]))
    print("\n" + "\n".join(conclusions(measurement)))


def _processes(measurement: MemoryMeasurement) -> Table:
    forked, separate = measurement.forked, measurement.separate
    processes = {
        "parent": forked.parent,
        f"one of {plural(forked.n_children, 'child')}": forked.children,
        "separate, before its events": separate.start,
        "separate, at most": separate.most,
    }
    names = ("private (USS)", "shared", "RSS", "anonymous", "its PSS")
    rows = [
        (name, memory.private_bytes, memory.shared_bytes, memory.rss_bytes,
         memory.anonymous_bytes, memory.pss_anonymous_bytes)
        for name, memory in processes.items()
    ]  # fmt: skip
    heads = ("", *(f"{name}:megabytes" for name in names))
    return Table.of(f"{measurement.name}: memory of a process", heads, rows)


def _totals(measurement: MemoryMeasurement) -> Table:
    n, mix = measurement.forked.n_children, measurement.separate.mix
    each = f"{megabytes(mix.shared_bytes)} shared, {megabytes(mix.private_bytes)} private each"
    forked = f"parent and {plural(n, 'child')}: PSS of anonymous memory + files once"
    rows = (
        (f"{plural(n, 'separate process')}: {_how(measurement)}", measurement.separate_bytes, ""),
        (f"ideal: {each}", mix.forked_bytes(n), percent(measurement.ideal_saving, 2)),
        (forked, measurement.forked_bytes, percent(measurement.saving, 2)),
    )
    return Table.of(f"memory of all {n}", ("", "together:megabytes", "saving:text"), rows)


def _how(measurement: MemoryMeasurement) -> str:
    separate, n = measurement.separate, measurement.forked.n_children
    if separate.n_processes >= n:
        return f"{n} × anonymous + files once"
    return f"{n} × anonymous + files once, measured with {separate.n_processes}"


def conclusions(measurement: MemoryMeasurement) -> list[str]:
    """Conclusions of the measurement, in words."""
    forked = measurement.forked
    reached, possible = measurement.saving, measurement.ideal_saving
    points = 100 * (possible - reached)
    least, most = megabytes(forked.min_private_bytes), megabytes(forked.max_private_bytes)
    lines = [
        f"saving {percent(reached, 2)} of {percent(possible, 2)} possible:"
        f" {abs(points):.2f} points {'below' if points >= 0 else 'above'} the ideal",
        f"private memory of a child: {least} to {most};"
        f" {megabytes(measurement.unshared_bytes)} more than it needs"
        " (forkrun measure unshared says which)",
    ]
    if measurement.reference is not None:
        mix = measurement.reference
        conditions, private = megabytes(mix.shared_bytes), megabytes(mix.private_bytes)
        allowed = percent(mix.ideal_saving(forked.n_children), 2)
        lines.append(
            f"reference case: {conditions} of conditions and {private} private alone would allow"
            f" {allowed}"
        )
    return lines
