"""Short runs of a job with one child, for several numbers of threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from forkrun.config import JobConfig
from forkrun.errors import JobError
from forkrun.monitoring.records import RunRecords, read_records
from forkrun.studies.measure.fit import Probe
from forkrun.studies.measure.jobs import RunningJob, run_jobs

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
    say(f"probe: {n_events:,} events with {n_threads} thread{'s' * (n_threads > 1)} …")
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
