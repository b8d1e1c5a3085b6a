"""Records of a run directory, as values; of samples there may be millions."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import wraps
from pathlib import Path
from typing import Any, Self, TypeVar

from msgspec import MsgspecError, Struct
from msgspec.json import Decoder
from msgspec.structs import replace

from forkrun.base.json_lines import read_json_lines
from forkrun.base.regular_file import open_regular, read_regular
from forkrun.errors import InputError
from forkrun.monitoring.process_reading import ProcessReading
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit, OutputPart
from forkrun.rundir.nodes import read_commits
from forkrun.rundir.results import KeptResults, WrittenEvents

MOST_SAMPLES = 200_000
"""Approximate maximum number of samples kept: a curve has a thousand points."""


class Sample(ProcessReading, frozen=True, kw_only=True):
    """One process at one time. `child` is None for the parent; `time_s` since the epoch.
    `complete`: number of the complete sample, of `n_sampled` processes; None: of this process
    alone. `own_cost_s`: CPU time of a process that sampled itself."""

    time_s: float
    child: int | None
    pid: int
    n_events_done: int
    complete: int | None = None
    n_sampled: int = 1
    own_cost_s: float = 0.0

    @property
    def cpu_s(self) -> float:
        """CPU time, user and system."""
        return self.cpu_user_s + self.cpu_system_s


def read_samples(path: Path, damaged: list[str]) -> list[Sample]:
    """Samples in the order of the file; if there are more than MOST_SAMPLES, every n-th and the
    extremes listed in `_Thinned`. `damaged` gets a text for each damaged line."""
    try:
        n_bytes = path.stat().st_size
        lines = _lines(path)
        first = next(lines, b"")
    except FileNotFoundError:
        return []
    n_expected = n_bytes // max(len(first), 1)
    samples = _decoded(path, damaged)
    if n_expected <= MOST_SAMPLES:
        return list(samples)
    return _Thinned(-(-n_expected // MOST_SAMPLES)).of(samples)


def _lines(path: Path) -> Iterator[bytes]:
    """Lines with their ends; an incomplete last one is still being written."""
    with os.fdopen(open_regular(path), "rb") as file:
        yield from (line for line in file if line.endswith(b"\n"))


def _decoded(path: Path, damaged: list[str]) -> Iterator[Sample]:
    decode = Decoder(Sample).decode
    for number, line in enumerate(_lines(path), start=1):
        try:
            if line != b"\n":
                yield decode(line)
        except MsgspecError as error:
            damaged.append(f"{path.name}: line {number} has an unexpected form ({error})")


class _Thinned:
    """Keeps every n-th complete sample, and every n-th single sample of each process. Also keeps
    the first, the last and the highest ones of each process; the complete sample with the highest
    sum, and the last one of several processes; samples that processes took of themselves. Memory is
    bounded by the kept samples."""

    def __init__(self, step: int) -> None:
        self._step = step
        self._kept: list[Sample] = []
        self._n_alone: dict[tuple[int | None, int], int] = {}
        self._last: dict[tuple[int | None, int], Sample] = {}
        self._highest: dict[tuple[int | None, int, str], Sample] = {}
        self._open: dict[int, list[Sample]] = {}
        self._peak: list[Sample] = []
        self._last_of_several: list[Sample] = []

    def of(self, samples: Iterator[Sample]) -> list[Sample]:
        """Returns the kept samples."""
        for sample in samples:
            self._add(sample)
        extremes = [*self._last.values(), *self._highest.values()]
        found = [*self._kept, *extremes, *self._peak, *self._last_of_several]
        return sorted({id(each): each for each in found}.values(), key=lambda each: each.time_s)

    def _add(self, sample: Sample) -> None:
        process = sample.child, sample.pid
        if process not in self._last or sample.own_cost_s or self._is_nth(sample):
            self._kept.append(sample)
        self._last[process] = sample
        for name in ("pss_bytes", "uss_bytes"):
            highest = self._highest.get((*process, name))
            if highest is None or getattr(sample, name) > getattr(highest, name):
                self._highest[*process, name] = sample
        if sample.complete is not None:
            self._complete(sample.complete, sample)

    def _is_nth(self, sample: Sample) -> bool:
        if sample.complete is not None:
            return sample.complete % self._step == 0
        process = sample.child, sample.pid
        self._n_alone[process] = n = self._n_alone.get(process, -1) + 1
        return n % self._step == 0

    def _complete(self, number: int, sample: Sample) -> None:
        group = self._open.setdefault(number, [])
        group.append(sample)
        if len(group) < sample.n_sampled:
            return
        self._open = {n: each for n, each in self._open.items() if n > number}
        if sum(s.pss_bytes for s in group) > sum(s.pss_bytes for s in self._peak):
            self._peak = group
        if len(group) > 1:
            self._last_of_several = group


__all__ = ["RunRecords", "Sample", "TimelineLine", "Written", "read_records"]

Line = TypeVar("Line")


class Written(Struct, frozen=True):
    """Output written by a unit or a merge. `digest`: None for a file without ids; `written_anew`:
    branches of objects whose entries could not be copied as bytes."""

    n_events: int
    digest: str | None
    n_bytes: int = 0
    written_anew: tuple[str, ...] = ()


class TimelineLine(Struct, frozen=True):
    """One event of the parent's timeline."""

    time_s: float
    event: str
    child: int | None
    details: Mapping[str, Any]

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Self:
        """Reads a line. Raises LookupError or ValueError."""
        time_s, child = line["time_s"], line.get("child")
        if not isinstance(time_s, int | float) or not isinstance(child, int | None):
            raise ValueError("its time or its child is not a number")
        return cls(time_s, str(line["event"]), child, line)


class RunRecords(Struct, frozen=True, dict=True):
    """Everything that goes into a report. Mappings are empty if the job did not get so far."""

    config: Mapping[str, Any]
    config_digest: str
    plan: Mapping[str, Any]
    datasets: Mapping[str, Any] = {}
    """Facts about several datasets; `datasets.json`."""
    ledger: tuple[Commit, ...] = ()
    kept: tuple[Commit, ...] = ()
    """Events processed by earlier runs."""
    samples: tuple[Sample, ...] = ()
    timeline: tuple[TimelineLine, ...] = ()
    host: Mapping[str, Any] | None = None
    sampler: Mapping[str, Any] | None = None
    earlier: KeptResults = KeptResults()
    """Results kept from earlier runs."""
    damaged: tuple[str, ...] = ()
    """Descriptions of unreadable records, which are left out."""

    @property
    def commits(self) -> tuple[Commit, ...]:
        """Commits of all events, by this run and by earlier ones."""
        return (*self.kept, *self.ledger)

    def written(self, label: str) -> list[tuple[int, OutputPart | WrittenEvents]]:
        """Selected events of an output, with the numbers of their datasets."""
        if (kept := self.earlier.written(label)) is not None:
            return [*kept.items()]
        return [(c.dataset, c.outputs[label]) for c in self.commits if label in c.outputs]

    @property
    def n_children(self) -> int:
        """Number of processes for events: 1 also for a job without children."""
        planned = self.plan.get("children", self.config.get("forking", {}).get("children", 1))
        return max(int(planned), 1)

    @property
    def start_s(self) -> float:
        """Zero of the time axis: the first known time; 0 if none [s since the epoch]."""
        known = [each[0].time_s for each in (self.timeline, self.samples) if each]
        known += [unit.start_s for unit in self.ledger[:1]]
        return min(known, default=0.0)

    @property
    def end_s(self) -> float:
        """The last known time; 0 if none [s since the epoch]."""
        known = [each[-1].time_s for each in (self.timeline, self.samples) if each]
        return max([*known, *(unit.end_s for unit in self.ledger)], default=0.0)

    def sessions(self) -> tuple[RunRecords, ...]:
        """Records of each session in order: a resumed job has several."""
        starts = sorted(set(self.times("job_start")))
        if len(starts) < 2:
            return (self,)
        bounds = [*zip([-math.inf, *starts[1:]], [*starts[1:], math.inf], strict=True)]
        return tuple(self._between(first_s, end_s) for first_s, end_s in bounds)

    def _between(self, first_s: float, end_s: float) -> RunRecords:
        return replace(
            self,
            ledger=tuple(line for line in self.ledger if first_s <= line.start_s < end_s),
            samples=tuple(sample for sample in self.samples if first_s <= sample.time_s < end_s),
            timeline=tuple(line for line in self.timeline if first_s <= line.time_s < end_s),
        )

    def times(self, event: str) -> list[float]:
        """Times of a timeline event, in order [s]."""
        return [line.time_s for line in self.timeline if line.event == event]

    def last(self, event: str) -> TimelineLine | None:
        """The last timeline event of this name."""
        return next((line for line in reversed(self.timeline) if line.event == event), None)


Found = TypeVar("Found")


def once(function: Callable[[RunRecords], Found]) -> Callable[[RunRecords], Found]:
    """A function of records whose result is kept with them."""

    @wraps(function)
    def kept(records: RunRecords) -> Found:
        known, name = records.__dict__, f"{function.__module__}.{function.__qualname__}"
        if name not in known:
            known[name] = function(records)
        found: Found = known[name]
        return found

    return kept


@once
def complete_samples(records: RunRecords) -> list[list[Sample]]:
    """Samples of all live processes, grouped, in order of time. A resumed job uses group numbers
    again."""
    groups: dict[tuple[float, int], list[Sample]] = {}
    for sample in records.samples:
        if sample.complete is not None:
            groups.setdefault((sample.time_s, sample.complete), []).append(sample)
    return [group for group in groups.values() if len(group) == group[0].n_sampled]


def read_records(
    run_dir: Path,
    commits: Sequence[Commit] | None = None,
    plan: Mapping[str, Any] | None = None,
) -> RunRecords:
    """Reads a run directory, in any state of its job. Damaged records are left out and described in
    `damaged`. `commits`, `plan`: if known; the plan's columns may be arrays. Raises InputError if
    `run_dir` is not a run directory, or is unreadable."""
    folder = RunDirectory(run_dir)
    if not folder.config.exists() and not folder.monitoring.is_dir():
        raise InputError(f"{run_dir}: not a run directory (it has no {folder.config.name})")
    try:
        return _read_records(folder, commits, plan)
    except OSError as error:
        where = error.filename or run_dir
        raise InputError(f"{where}: cannot be read: {error.strerror}") from error


def _read_records(
    folder: RunDirectory, commits: Sequence[Commit] | None, plan: Mapping[str, Any] | None
) -> RunRecords:
    damaged: list[str] = []
    if commits is None:
        commits = read_commits(folder, damaged)
    samples = read_samples(folder.samples, damaged)
    timeline = _read_lines(folder.timeline, TimelineLine.from_json, damaged)
    config = folder.config
    plan = plan or _read_object(folder.plan, damaged) or {}
    ordered = sorted(commits, key=lambda commit: commit.start_s)
    return RunRecords(
        config=_read_object(config, damaged) or {},
        config_digest=hashlib.sha256(read_regular(config)).hexdigest() if config.exists() else "",
        plan=plan,
        datasets=_read_object(folder.datasets, damaged) or {},
        ledger=tuple(commit for commit in ordered if not commit.computed_s),
        kept=tuple(commit for commit in ordered if commit.computed_s),
        samples=tuple(sorted(samples, key=lambda sample: sample.time_s)),
        timeline=tuple(sorted(timeline, key=lambda line: line.time_s)),
        host=_read_object(folder.host, damaged, _OF_HOST),
        sampler=_read_object(folder.sampler, damaged, _OF_SAMPLER),
        earlier=KeptResults.read(folder, plan.get("datasets", ())),
        damaged=tuple(damaged),
    )


def _read_lines(
    path: Path, parse: Callable[[Mapping[str, Any]], Line], damaged: list[str]
) -> list[Line]:
    values = []
    for line in read_json_lines(path, damaged):
        try:
            values.append(parse(line))
        except (LookupError, TypeError, ValueError) as error:
            damaged.append(f"{path.name}: a line has an unexpected form ({error})")
    return values


_OF_HOST = {"name", "cpu", "n_cpus", "memory_bytes", "kernel", "command", "versions"}
_OF_SAMPLER = {"cpu_s", "cpu_fraction", "n_samples", "longest_stop_s"}


def _read_object(
    path: Path, damaged: list[str], keys: Set[str] = frozenset()
) -> dict[str, Any] | None:
    if not path.exists():
        return None
    try:
        value = json.loads(read_regular(path))
    except ValueError as error:
        value = error
    if isinstance(value, dict) and keys <= value.keys():
        return value
    damaged.append(f"{path.name}: unexpected form")
    return None
