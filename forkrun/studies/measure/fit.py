"""Choice of children × threads for a slot, from short runs of the job with one child, and its
description."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, linear_regression
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from forkrun.base.quantities import megabytes, percent, plural
from forkrun.config.model import JobConfig
from forkrun.errors import JobError
from forkrun.monitoring.records import RunRecords, read_records
from forkrun.monitoring.tables import Table, text_of
from forkrun.studies.frame.jobs import RunningJob, run_jobs
from forkrun.studies.frame.machine import Slot

_SETTINGS = (
    "forking.children=1",
    "forking.distribution=contiguous",
    "monitoring.sampling_cost=0.05",
    "monitoring.timing=false",
    "threads.read_ahead=false",
)


def probe_job(
    config: JobConfig,
    n_events: int,
    threads: Sequence[int],
    folder: Path,
    say: Callable[[str], None],
) -> list[Probe]:
    """Runs one child for each number, with the first `n_events` events. Raises the job's errors."""
    return [_probe(config, n_events, n, folder, say) for n in threads]


def _probe(
    config: JobConfig, n_events: int, n_threads: int, folder: Path, say: Callable[[str], None]
) -> Probe:
    say(f"probe: {plural(n_events, 'event')} with {plural(n_threads, 'thread')} …")
    limit = min(n_events, config.source.max_events or n_events)
    settings = (*_SETTINGS, f"threads.per_child={n_threads}", f"source.max_events={limit}")
    job = RunningJob(config, folder / f"probe-{n_threads}", settings)
    run_jobs([job], "the probe")
    return _measured(read_records(job.folder), n_threads)


def _measured(records: RunRecords, n_threads: int) -> Probe:
    parents = [sample for sample in records.samples if sample.child is None]
    children = [sample for sample in records.samples if sample.child is not None]
    n_events = sum(unit.n_events for unit in records.ledger)
    time_s = sum(unit.duration_s for unit in records.ledger)
    if not parents or not children or not n_events:
        raise JobError("plan --fit: the probe had no events; give it more with --fit-events")
    return Probe(
        n_threads,
        n_events / time_s,
        max(sample.rss_bytes for sample in parents),
        max(sample.private_bytes for sample in children),
    )


# Memory besides anonymous memory that counts in slot limits (page tables, file buffers), and growth
# after the end of a probe.
MARGIN = 0.1


class Probe(Struct, frozen=True):
    """One child with some threads: events per second of its event loop, parent memory shared by
    children [bytes], and the child's own memory [bytes]."""

    n_threads: int
    events_per_s: float
    shared_bytes: float
    private_bytes: float


class Choice(Struct, frozen=True):
    """Children × threads: their needs and their performance."""

    n_children: int
    n_threads: int
    memory_bytes: float
    events_per_s: float
    fits: bool


class Fit(Struct, frozen=True):
    """The table of choices, best first among those that fit; `chosen`: None if nothing fits."""

    rows: Sequence[Choice]
    chosen: Choice | None

    def to_json(self) -> dict[str, Any]:
        return {
            "rows": [asdict(row) for row in self.rows],
            "chosen": self.chosen and asdict(self.chosen),
        }


class JobModel:
    """A job with any number of threads, from probes at some. Between and beyond them, private
    memory is linear in the number of threads, and a child's speed follows Amdahl's law.
    `serial_part`: fraction of a child's time that more threads do not shorten; None for a single
    probe, which says nothing of other numbers of threads."""

    def __init__(self, probes: Sequence[Probe]) -> None:
        """Fits the model to at least one probe."""
        self.probes = sorted(probes, key=lambda probe: probe.n_threads)
        self.shared_bytes = max(probe.shared_bytes for probe in probes)
        threads = [probe.n_threads for probe in self.probes]
        memory = [probe.private_bytes for probe in self.probes]
        slope = linear_regression(threads, memory).slope if len(threads) > 1 else 0.0
        self.bytes_per_thread = max(slope, 0.0)
        first, *others = self.probes
        self.serial_part = fmean(_serial_part(first, each) for each in others) if others else None
        self._private_bytes = max(
            m - self.bytes_per_thread * t for t, m in zip(threads, memory, strict=True)
        )

    def private_bytes(self, n_threads: int) -> float:
        """Private memory of a child with `n_threads` threads; an upper bound for the probes."""
        return self._private_bytes + self.bytes_per_thread * n_threads

    def events_per_s(self, n_threads: int) -> float:
        """Event rate of a child with one of the `numbers` of threads; measured if available."""
        for probe in self.probes:
            if probe.n_threads == n_threads:
                return probe.events_per_s
        assert self.serial_part is not None
        first = self.probes[0]
        gain = _amdahl_time(self.serial_part, first.n_threads) / _amdahl_time(
            self.serial_part, n_threads
        )
        return first.events_per_s * gain

    def numbers(self, n_cores: int) -> list[int]:
        """Numbers of threads with a known event rate, up to `n_cores`."""
        if self.serial_part is None:
            return [probe.n_threads for probe in self.probes]
        return list(range(1, n_cores + 1))

    def memory_bytes(self, n_children: int, n_threads: int) -> float:
        """Memory of parent and children, with the margin."""
        exact = self.shared_bytes + n_children * self.private_bytes(n_threads)
        return exact * (1.0 + MARGIN)


def choose(model: JobModel, n_cores: int, memory_bytes: float, max_children: int) -> Fit:
    """Lists every known number of threads with as many children as cores allow, and as many as
    memory allows. Chooses the highest event rate that fits; among equals, the least memory.
    `max_children`: further children would have no unit of work."""
    shapes = set()
    for n_threads in model.numbers(n_cores):
        by_cores = min(n_cores // n_threads, max_children)
        per_child = model.private_bytes(n_threads) * (1.0 + MARGIN)
        room = memory_bytes - model.shared_bytes * (1.0 + MARGIN)
        by_memory = max(int(room // per_child), 0) if per_child > 0 else by_cores
        shapes |= {(by_cores, n_threads), (min(by_cores, max(by_memory, 1)), n_threads)}
    rows = [_row(model, *shape, memory_bytes) for shape in shapes]
    rows.sort(key=lambda row: (not row.fits, -row.events_per_s, row.memory_bytes, row.n_children))
    return Fit(rows, rows[0] if rows[0].fits else None)


def _row(model: JobModel, n_children: int, n_threads: int, memory_bytes: float) -> Choice:
    needed = model.memory_bytes(n_children, n_threads)
    speed = n_children * model.events_per_s(n_threads)
    return Choice(n_children, n_threads, needed, speed, needed <= memory_bytes)


def _amdahl_time(serial_part: float, n_threads: int) -> float:
    """Time of an event, relative to one thread."""
    return serial_part + (1.0 - serial_part) / n_threads


def _serial_part(few: Probe, many: Probe) -> float:
    """Serial fraction from two probes, with fewer and with more threads."""
    gain = many.events_per_s / few.events_per_s
    if gain <= 1.0:
        return 1.0
    part = 1.0 / few.n_threads - gain / many.n_threads
    return max(part / (gain - 1.0 + part), 0.0)


def print_fit(slot: Slot, model: JobModel, fit: Fit) -> None:
    """Prints slot, probes, table and choice."""
    print(f"slot: {slot.cores.value:g} cores ({slot.cores.source})")
    print(f"      {megabytes(slot.memory.value)} ({slot.memory.source})\n")
    print(text_of([_probe_table(model.probes), _choices(fit)]))
    print("\n" + _conclusion(fit, slot, model))


def _probe_table(probes: Sequence[Probe]) -> Table:
    heads = ("threads:text", "events/s:text", "shared:megabytes", "private:megabytes")
    rows = [
        (p.n_threads, f"{p.events_per_s:,.4g}", p.shared_bytes, p.private_bytes) for p in probes
    ]
    return Table.of("probes, with one child", heads, rows)


def _choices(fit: Fit) -> Table:
    sizes = ("children:text", "threads:text", "memory needed:megabytes", "expected events/s:text")
    rows = [
        ("→" if row == fit.chosen else "", row.n_children, row.n_threads, row.memory_bytes,
         f"{row.events_per_s:,.4g}", "" if row.fits else "too much memory")
        for row in fit.rows
    ]  # fmt: skip
    return Table.of("children × threads", ("", *sizes, ""), rows)


def _conclusion(fit: Fit, slot: Slot, model: JobModel) -> str:
    if fit.chosen is None:
        least = min(row.memory_bytes for row in fit.rows)
        return f"nothing fits: the least is {megabytes(least)}; ask for a larger slot"
    chosen = fit.chosen
    part = percent(model.serial_part)
    threads = f"{part} of a child's time does not get shorter with more threads"
    if model.serial_part is None:
        threads = f"no other number of threads than {chosen.n_threads} was tried on this machine"
    return (
        f"--children {chosen.n_children} --threads {chosen.n_threads}\n"
        f"memory has a margin of {percent(MARGIN, 0)}; {threads};\n"
        "how children slow each other down (memory bandwidth, disks) is not in this estimate"
    )
