"""Forked children against separate processes of the same job: memory shared, private and saved."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

from forkrun.config import JobConfig
from forkrun.errors import ConfigError
from forkrun.rundir.directory import RunDirectory
from forkrun.studies.measure.jobs import RunningJob, run_jobs
from forkrun.studies.measure.samples import (
    Forked,
    Moment,
    ProcessMemory,
    forked_memory,
    mean_memory,
    memory_of_process,
    memory_per_child,
    separate_memory,
)
from forkrun.studies.measure.sharing import Mix, saving

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
    say(f"{n_children} forked children …")
    job = RunningJob(config, folder / "forked", _SAMPLING)
    run_jobs([job], f"the job with {n_children} children")
    return job.folder


def _run_separate(
    config: JobConfig, folder: Path, n_separate: int, forked: Path, say: Callable[[str], None]
) -> list[Path]:
    say(f"{n_separate} separate process{'es' * (n_separate > 1)} …")
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
    run_jobs(jobs, f"{n_separate} separate processes")
    return [job.folder for job in jobs]


def _separate(run_dirs: Sequence[Path]) -> Separate:
    both = [separate_memory(run_dir) for run_dir in run_dirs]
    return Separate(
        n_processes=len(run_dirs),
        start=mean_memory([start for start, _ in both]),
        most=mean_memory([most for _, most in both]),
    )
