"""Runs a job from beginning to end in this process and the children it forks; goes on with one that
was interrupted."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

from forkrun.child.fault_injection import Chaos
from forkrun.conditions.record import conditions_to_json, summary
from forkrun.config import JobConfig
from forkrun.errors import ForkrunError, OutOfTimeError, OutputError, StoppedError
from forkrun.fork.memory import expect_objects
from forkrun.fork.safety import check_safe_to_fork
from forkrun.monitoring import Timeline
from forkrun.parent.deadline import find_deadline
from forkrun.parent.merging import end_merge, merge
from forkrun.parent.messages import Messages
from forkrun.parent.preparation import PreparedJob, prepare
from forkrun.parent.processing import Run, process
from forkrun.parent.reporting import write_report
from forkrun.parent.result import Result
from forkrun.rundir.directory import RunDirectory, output_errors, write_json
from forkrun.rundir.ledger import Commit
from forkrun.rundir.lock import RunLock
from forkrun.rundir.lumi_accounting import write_books
from forkrun.rundir.resume import check_same_job, valid_commits

_ROUNDS = 3
"""Times that units whose files turn out damaged are done again."""


def run_job(
    config: JobConfig,
    path: Path,
    *,
    force: bool = False,
    quiet: bool = False,
    plots: bool = True,
) -> Result:
    """The whole job: check, process, merge, report; only what is left of it if the run directory
    holds its beginning. Raises a ForkrunError that says what went wrong; then nothing is under a
    final name that has not been verified."""
    start_s = time.monotonic()
    folder = RunDirectory(path.absolute())
    goes_on = folder.holds_run(force)
    chaos = Chaos.from_environment()
    if config.forking.children:
        check_safe_to_fork()
    expect_objects(config.memory)
    job = prepare(config, quiet)
    if goes_on:
        check_same_job(folder, job.fingerprint)
        if folder.is_finished():
            return _already_done(folder, config, quiet, plots)
    folder.path.mkdir(parents=True, exist_ok=True)
    with RunLock.held(folder.lock) as lock, output_errors(folder.path):
        before = _continue(folder, job) if goes_on else _begin(folder, job)
        deadline = find_deadline(config.limits.walltime, start_s)
        messages = Messages(folder, quiet)
        timeline = Timeline(folder.path)
        run = Run(folder, job, timeline, messages, deadline, chaos, quiet, lock.keep)
        _record_preparation(run, before)
        _process_and_report(run, before, plots)
    return Result.read(folder.path)


def _already_done(folder: RunDirectory, config: JobConfig, quiet: bool, plots: bool) -> Result:
    """Also for a run whose parent was killed when everything had been merged."""
    if not folder.has_good_report():
        timeline = Timeline(folder.path)
        end_merge(folder, config, timeline)
        timeline.record("job_end", pid=os.getpid(), outcome="ok")
        timeline.close()
        write_books(folder)
        write_report(folder.path, plots=plots)
    Messages(folder, quiet).say(f"{folder.path}: done already; --force does it again")
    return Result.read(folder.path)


def _begin(folder: RunDirectory, job: PreparedJob) -> list[Commit]:
    folder.create()
    _describe(folder, job)
    return []


def _continue(folder: RunDirectory, job: PreparedJob) -> list[Commit]:
    n_events = job.plan.units.n_events
    commits, problems = valid_commits(folder, n_events, thorough=True)
    for problem in problems:
        Messages(folder, quiet=False).say(f"{problem}; it is done again")
    folder.remove_results()
    _describe(folder, job)
    return commits


def _describe(folder: RunDirectory, job: PreparedJob) -> None:
    write_json(folder.config, job.config.model_dump(mode="json"))
    write_json(folder.fingerprint, job.fingerprint)
    write_json(folder.input_lumis, job.input_lumis.to_json(), indent=None)
    write_json(folder.plan, job.plan.to_json(), indent=None)
    if job.config.conditions:
        write_json(folder.conditions, conditions_to_json(job.schedule.conditions))


def _process_and_report(run: Run, before: Sequence[Commit], plots: bool) -> None:
    try:
        _process_and_merge(run, before)
    except ForkrunError as error:
        with contextlib.suppress(OSError, ForkrunError):  # on a full disk the first error counts
            _end(run, str(error).splitlines()[0], plots)
            run.messages.note(str(error))
        raise
    _end(run, "ok", plots)


def _record_preparation(run: Run, before: Sequence[Commit]) -> None:
    pid, job = os.getpid(), run.job
    run.timeline.record("job_start", pid=pid, time_s=job.start_s)
    run.timeline.record("index_done", pid=pid, time_s=job.index_done_s)
    run.timeline.record("modules_built", pid=pid, time_s=job.modules_built_s)
    plan = job.plan
    run.messages.say(
        f"{plan.n_events:,} events in {plan.n_lumis:,} lumis of {len(plan.files):,} files;"
        f" {len(plan.units):,} units of work for {plan.children} children ({plan.distribution})"
    )
    if job.config.conditions:
        run.messages.say(summary(job.schedule.conditions))
    if before:
        run.timeline.record("resume", pid=pid, n_units=len(before))
        n_events = sum(commit.n_events for commit in before)
        run.messages.say(f"{len(before):,} units ({n_events:,} events) were committed before")


def _end(run: Run, outcome: str, plots: bool) -> None:
    run.timeline.record("job_end", pid=os.getpid(), outcome=outcome)
    run.timeline.close()
    write_books(run.folder)
    write_report(run.folder.path, plots=plots)


def _process_and_merge(run: Run, before: Sequence[Commit]) -> None:
    config, plan = run.job.config, run.job.plan
    try:
        _process_until_whole(run, before)
    except (StoppedError, OutOfTimeError):
        if config.merge.enabled and config.merge.when_stopped:
            merge(run.folder, config, plan, run.timeline, run.quiet, is_whole=False)
        raise
    if config.merge.enabled:
        merge(run.folder, config, plan, run.timeline, run.quiet)


def _process_until_whole(run: Run, before: Sequence[Commit]) -> None:
    """Until the files of all units are there as they were written."""
    commits, problems = list(before), [""]
    for _ in range(_ROUNDS):
        process(run, commits)
        commits, problems = valid_commits(run.folder, run.job.plan.units.n_events, thorough=False)
        if not problems:
            return
        run.messages.say("\n".join(f"{problem}; it is done again" for problem in problems))
    raise OutputError(f"temporary outputs do not stay as they are written: {problems[0]}")
