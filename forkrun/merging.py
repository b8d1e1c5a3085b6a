"""Merges a run in a short-lived process: what ROOT opens and keeps for it ends there, and the
parent stays a clean template to fork from."""

from __future__ import annotations

import json
import mmap
import os
import struct
import sys
import traceback
from dataclasses import asdict
from pathlib import Path

from forkrun.child import as_forkrun_error
from forkrun.config import JobConfig
from forkrun.errors import JobError, StoppedError
from forkrun.failure import FailureNote
from forkrun.forking import fork_process
from forkrun.merge import MergeSummary, Planned, merge_run, read_ledgers
from forkrun.monitoring import Timeline
from forkrun.plan import Plan
from forkrun.progress import ProgressDisplay, make_progress
from forkrun.run_directory import RunDirectory, write_json
from forkrun.supervisor import Supervisor
from forkrun.wait_status import describe_status

_NAME = "merge"


class _Counter:
    """A number in memory shared with the merging process."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 8)

    @property
    def value(self) -> int:
        number: int = struct.unpack("q", self._memory[:])[0]
        return number

    def set(self, value: int) -> None:
        self._memory[:] = struct.pack("q", value)


class _MergeObserver:
    """Shows how many temporary outputs have been merged."""

    def __init__(self, progress: ProgressDisplay, counter: _Counter) -> None:
        self._progress = progress
        self._counter = counter

    def started(self, child: int, pid: int) -> None:
        """Nothing to say."""

    def ended(self, child: int, pid: int, exit_code: int) -> None:
        """The outcome says it."""

    def stopping(self) -> None:
        """At once: see grace_s."""

    def tick(self) -> None:
        self._progress.update(self._counter.value)


def merge_in_process(
    folder: RunDirectory, config: JobConfig, plan: Plan, timeline: Timeline, quiet: bool
) -> None:
    """Merges and verifies. Raises what went wrong there."""
    counter = _Counter()
    progress = make_progress(len(plan.units) * len(config.outputs), "merged", quiet)
    log = folder.log(_NAME, os.getpid())
    failure = FailureNote()
    timeline.record("merge_start", pid=os.getpid())
    try:
        supervisor = Supervisor(
            lambda _child: fork_process(
                lambda: _merge(folder, config, plan, counter, failure), log
            ),
            _MergeObserver(progress, counter),
            grace_s=0.0,
        )
        outcome = supervisor.run([0])
    finally:
        progress.close()
    if outcome.signal_number:
        raise StoppedError("stopped while merging; forkrun merge RUNDIR", outcome.signal_number)
    exit_code = outcome.exit_codes[0]
    if exit_code:
        what = f"the merging process ended: {describe_status(exit_code)}; its log: {log}"
        raise failure.read() or JobError(what)
    summary = json.loads(_summary(folder).read_bytes())
    outputs = {output.pop("label"): output for output in summary["outputs"]}
    timeline.record("merge_end", pid=os.getpid(), outputs=outputs)


def _summary(folder: RunDirectory) -> Path:
    return folder.ledger / "merge.json"


def _merge(
    folder: RunDirectory, config: JobConfig, plan: Plan, counter: _Counter, failure: FailureNote
) -> int:
    try:
        write_json(_summary(folder), asdict(merge_here(folder, config, plan, counter)))
        return 0
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        told = as_forkrun_error(error)
        failure.write(told)
        return told.exit_code


def merge_here(
    folder: RunDirectory, config: JobConfig, plan: Plan, counter: _Counter
) -> MergeSummary:
    """In this process."""
    done: dict[str, int] = {}

    def progress(label: str, n_parts: int) -> None:
        done[label] = n_parts
        counter.set(sum(done.values()))

    planned = Planned(plan.units, plan.files, plan.n_events, plan.digest)
    commits = read_ledgers(folder.ledger)
    return merge_run(folder.path, config, planned, commits, progress)
