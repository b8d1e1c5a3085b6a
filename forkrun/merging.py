"""Merges a run in a short-lived process: what ROOT opens and keeps for it ends there, and the
parent stays a clean template to fork from."""

from __future__ import annotations

import json
import mmap
import os
import struct
import sys
import traceback
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from forkrun.child import as_forkrun_error
from forkrun.config import JobConfig
from forkrun.errors import ForkrunError, JobError, StoppedError
from forkrun.failure import FailureNote
from forkrun.forking import fork_process
from forkrun.merge import Planned, merge_run, read_ledgers
from forkrun.monitoring import Timeline
from forkrun.plan import Plan
from forkrun.progress import ProgressDisplay, make_progress
from forkrun.run_directory import RunDirectory, write_json
from forkrun.supervisor import Supervisor
from forkrun.wait_status import describe_status


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


def merge(
    folder: RunDirectory, config: JobConfig, plan: Plan, timeline: Timeline, quiet: bool
) -> None:
    """Merges and verifies; in this process if the job is one without children. Raises what went
    wrong."""
    timeline.record("merge_start", pid=os.getpid())
    progress = make_progress(len(plan.units) * len(config.outputs), "merged", quiet)
    try:
        if config.forking.children:
            _merge_in_child(folder, config, plan, progress)
        else:
            _merge_here(folder, config, plan, progress.update)
    finally:
        progress.close()
    summary = json.loads(_summary(folder).read_bytes())
    outputs = {output.pop("label"): output for output in summary["outputs"]}
    timeline.record("merge_end", pid=os.getpid(), outputs=outputs)


def _summary(folder: RunDirectory) -> Path:
    return folder.ledger / "merge.json"


def _merge_here(
    folder: RunDirectory, config: JobConfig, plan: Plan, progress: Callable[[int], None]
) -> None:
    """`progress` gets the number of temporary outputs that have been merged."""
    done: dict[str, int] = {}

    def note(label: str, n_parts: int) -> None:
        done[label] = n_parts
        progress(sum(done.values()))

    planned = Planned(plan.units, plan.files, plan.n_events, plan.digest)
    try:
        summary = merge_run(folder.path, config, planned, read_ledgers(folder.ledger), note)
    except Exception as error:
        raise as_forkrun_error(error) from error
    write_json(_summary(folder), asdict(summary))


def _merge_in_child(
    folder: RunDirectory, config: JobConfig, plan: Plan, progress: ProgressDisplay
) -> None:
    counter, failure = _Counter(), FailureNote()
    log = folder.log("merge", os.getpid())

    def body() -> int:
        try:
            _merge_here(folder, config, plan, counter.set)
            return 0
        except ForkrunError as error:
            traceback.print_exc(file=sys.stderr)
            failure.write(error)
            return error.exit_code

    observer = _MergeObserver(progress, counter)
    outcome = Supervisor(lambda _: fork_process(body, log), observer, grace_s=0.0).run([0])
    if outcome.signal_number:
        what = f"stopped while merging; forkrun merge {folder.path} does it again"
        raise StoppedError(what, outcome.signal_number)
    if exit_code := outcome.exit_codes[0]:
        what = f"the merging process ended: {describe_status(exit_code)}; its log: {log}"
        raise failure.read() or JobError(what)
