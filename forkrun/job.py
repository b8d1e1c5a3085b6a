"""Runs a job from beginning to end in this process and the children it forks."""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import dataclass
from pathlib import Path

from forkrun import _core
from forkrun.child import Work, as_forkrun_error, process_units, run_child
from forkrun.config import JobConfig
from forkrun.errors import ForkrunError, JobError
from forkrun.failure import FailureNote
from forkrun.fork_safety import check_safe_to_fork
from forkrun.forking import fork_process, freeze_memory
from forkrun.merging import merge
from forkrun.messages import Messages
from forkrun.monitoring import Timeline
from forkrun.observer import RunObserver
from forkrun.outcome import raise_for, stopped
from forkrun.preparation import PreparedJob, prepare
from forkrun.progress import make_progress
from forkrun.reporting import write_report
from forkrun.result import Result
from forkrun.run_directory import RunDirectory, output_errors, write_json
from forkrun.signals import StopFlag
from forkrun.supervisor import Supervisor


@dataclass(frozen=True)
class _Run:
    """What the steps of a run share."""

    folder: RunDirectory
    job: PreparedJob
    timeline: Timeline
    messages: Messages
    quiet: bool
    plots: bool


def run_job(
    config: JobConfig,
    path: Path,
    *,
    force: bool = False,
    quiet: bool = False,
    plots: bool = True,
) -> Result:
    """The whole job: check, process, merge, report. Raises a ForkrunError that says what went
    wrong; then nothing is under a final name that has not been verified."""
    folder = RunDirectory(path.absolute())
    folder.check_free(force)
    if config.forking.children:
        check_safe_to_fork()
    job = prepare(config)
    folder.create(force)
    with output_errors(folder.path):
        write_json(folder.config, config.model_dump(mode="json"))
        write_json(folder.plan, job.plan.to_json(), indent=None)
        run = _Run(folder, job, Timeline(folder.path), Messages(folder, quiet), quiet, plots)
        _record_preparation(run)
        _process_and_report(run)
    return Result.read(folder.path)


def _process_and_report(run: _Run) -> None:
    try:
        _process_and_merge(run)
    except ForkrunError as error:
        with contextlib.suppress(OSError, ForkrunError):  # on a full disk the first error counts
            _end(run, str(error).splitlines()[0])
            run.messages.note(str(error))
        raise
    _end(run, "ok")


def _record_preparation(run: _Run) -> None:
    pid, job = os.getpid(), run.job
    run.timeline.record("job_start", pid=pid, time_s=job.start_s)
    run.timeline.record("index_done", pid=pid, time_s=job.index_done_s)
    run.timeline.record("modules_built", pid=pid, time_s=job.modules_built_s)
    plan = job.plan
    run.messages.say(
        f"{plan.n_events:,} events in {plan.n_lumis:,} lumis of {len(plan.files):,} files;"
        f" {len(plan.units):,} units of work for {plan.children} children ({plan.distribution})"
    )


def _end(run: _Run, outcome: str) -> None:
    run.timeline.record("job_end", pid=os.getpid(), outcome=outcome)
    run.timeline.close()
    write_report(run.folder.path, plots=run.plots)


def _process_and_merge(run: _Run) -> None:
    config = run.job.config
    board = _core.StatusBoard(max(config.forking.children, 1))
    failures = [FailureNote() for _ in range(len(board))]
    work = Work(run.folder, config, run.job.plan, run.job.schedule, board, failures)
    progress = make_progress(run.job.plan.n_events, "events", run.quiet)
    observer = RunObserver(run.folder, run.timeline, board, progress, run.messages)
    try:
        if config.forking.children:
            _process_in_children(run, work, observer)
        else:
            _process_here(work, observer)
    finally:
        observer.close()
    if config.merge.enabled:
        merge(run.folder, config, run.job.plan, run.timeline, run.quiet)


def _process_in_children(run: _Run, work: Work, observer: RunObserver) -> None:
    children = run.job.plan.busy_children()
    idle = work.config.forking.children - len(children)
    if idle:
        run.messages.say(f"{idle} of the children would have no unit of work and are not started")
    _core.warm_up()
    work.schedule.core.pre_fork()
    check_safe_to_fork()
    freeze_memory()
    parent = os.getpid()

    def fork(child: int) -> int:
        log = run.folder.log(f"child-{child:03d}", parent)
        return fork_process(lambda: run_child(work, child), log)

    try:
        outcome = Supervisor(fork, observer).run(children)
    except OSError as error:
        raise JobError(f"cannot fork: {error.strerror}; free memory or processes") from error
    raise_for(outcome, run.folder, work.board, work.failures, parent)


def _process_here(work: Work, observer: RunObserver) -> None:
    """children = 0: no fork at all."""
    stop = StopFlag(signal.SIGINT, signal.SIGTERM)
    try:
        work.schedule.core.pre_fork()
        process_units(work, 0, stop, observer.tick)
    except Exception as error:
        raise as_forkrun_error(error) from error
    finally:
        stop.restore()
    if stop.number:
        raise stopped(stop.number, work.folder)
