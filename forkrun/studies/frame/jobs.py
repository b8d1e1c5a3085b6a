"""Jobs as ways of a study: each is a separate `forkrun run`, stopped before the machine runs out of
memory."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from forkrun.base.durable import output_errors, write_json
from forkrun.base.quantities import size
from forkrun.base.received import passed_on
from forkrun.config.model import JobConfig
from forkrun.errors import JobError
from forkrun.fork.command import CleanCommand, end_with_parent
from forkrun.monitoring.records import RunRecords, read_records
from forkrun.monitoring.report.children import ChildSummary, summarize_children
from forkrun.studies.frame.machine import available_memory_bytes

RESERVE_BYTES = 1_500_000_000
_INTERVAL_S = 0.2
_GRACE_S = 10.0


class RunningJob:
    """`forkrun run` in its own process group."""

    def __init__(
        self, config: JobConfig, folder: Path, settings: Sequence[str], *, merges: bool = False
    ) -> None:
        """`settings`: texts KEY=VALUE that change the configuration. The run directory is
        `folder`."""
        self.folder = folder
        file = folder.with_name(folder.name + ".job.json")
        arguments = ["run", str(file), "-o", str(folder), "--force", "--quiet", "--no-plots"]
        arguments += [] if merges else ["--no-merge"]
        arguments += [word for setting in settings for word in ("--set", setting)]
        with output_errors(file):
            self._command = CleanCommand(arguments, folder.with_name(folder.name + ".failure.json"))
            write_json(file, config.as_json())
        with passed_on() as (environment, descriptors):
            self._process = subprocess.Popen(
                self._command.words,
                env={**self._command.environment, **environment},
                stdin=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=descriptors,
                start_new_session=True,
                preexec_fn=end_with_parent,  # a job of many GB must not survive
            )

    def has_ended(self, timeout_s: float = _INTERVAL_S) -> bool:
        """Waits for the end, at most `timeout_s`; returns whether the job has ended."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def check(self) -> None:
        """Raises the job's own error if it failed."""
        what = f"{self.folder.name}: the job"
        self._command.check(self._process.returncode, what, may_lack_events=False)

    def stop(self) -> None:
        """Stops the job and its children."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            if not self.has_ended(_GRACE_S):
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()


def run_jobs(jobs: Sequence[RunningJob], what: str) -> None:
    """Waits for concurrent jobs. Raises JobError when memory runs out, and the error of the first
    job that failed; then stops all jobs."""
    try:
        for job in jobs:
            while not job.has_ended():
                _check_memory(what)
            job.check()
    finally:
        for job in jobs:
            job.stop()


def _check_memory(what: str) -> None:
    left = available_memory_bytes()
    if left < RESERVE_BYTES:
        raise JobError(
            f"{what} was stopped: only {size(left)} of memory are left; measure fewer of them, or a"
            " smaller job (--reference takes --conditions-mb and --private-mb)"
        )


class EndedJob(Struct, frozen=True):
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


def run_way(config: JobConfig, folder: Path, settings: Sequence[str]) -> EndedJob:
    """Runs the job without its merge in a new run directory in `folder`, and removes it.
    `settings`: texts KEY=VALUE. Raises the job's errors; JobError for a job without events."""
    job = RunningJob(config, folder / "way", settings)
    run_jobs([job], "the job")
    records = read_records(job.folder)
    if not records.ledger:
        raise JobError("the job has no events to measure")
    begin_s = min(commit.start_s for commit in records.ledger)
    loop_s = max(commit.end_s for commit in records.ledger) - begin_s
    shutil.rmtree(job.folder)
    return EndedJob(records, summarize_children(records), loop_s)
