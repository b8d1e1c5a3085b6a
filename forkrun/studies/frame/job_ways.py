"""Jobs as ways of a study: each is a separate `forkrun run`, with its records."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from forkrun.config import JobConfig
from forkrun.errors import JobError
from forkrun.monitoring.records import RunRecords, read_records
from forkrun.monitoring.report.children import ChildSummary, summarize_children
from forkrun.studies.measure.jobs import RunningJob, run_jobs


class Ran(Struct, frozen=True):
    """A job that has ended. `loop_s`: from the start of the first unit to the last commit."""

    records: RunRecords
    children: tuple[ChildSummary, ...]
    loop_s: float

    @property
    def read_calls(self) -> int:
        """Number of input reads by event loops."""
        return sum(child.read_calls for child in self.children)

    @property
    def read_bytes(self) -> int:
        """Bytes requested by these reads."""
        return sum(child.read_bytes for child in self.children)

    @property
    def n_events(self) -> int:
        return sum(child.n_events for child in self.children)


def run_way(config: JobConfig, folder: Path, settings: Sequence[str], *, keep: bool = False) -> Ran:
    """Runs the job without its merge; `settings`: texts KEY=VALUE. Removes the run directory
    `folder` unless `keep`. Raises the job's errors; JobError for a job without events."""
    run_jobs([RunningJob(config, folder, settings)], folder.name)
    records = read_records(folder)
    if not records.ledger:
        raise JobError(f"{folder.name}: the job has no events to measure")
    begin_s = min(commit.start_s for commit in records.ledger)
    loop_s = max(commit.end_s for commit in records.ledger) - begin_s
    if not keep:
        shutil.rmtree(folder)
    return Ran(records, summarize_children(records), loop_s)
