"""Processes the units of a job, in children forked from this process, or in this process."""

from __future__ import annotations

import faulthandler
import os
import signal
import time
from collections.abc import Callable, Sequence

from msgspec import Struct

from forkrun import _core
from forkrun.base.cpus import merge_threads
from forkrun.base.progress import make_progress
from forkrun.child.assignment import Assignment
from forkrun.child.hand_out import HandOut
from forkrun.child.loop import process_units, run_child
from forkrun.child.work import SharedState, Work
from forkrun.conditions.guard import ConditionGuard
from forkrun.config.anchor import is_url
from forkrun.errors import InputError, JobError
from forkrun.fork.failure import as_forkrun_error
from forkrun.fork.forking import Process
from forkrun.fork.hazards import step
from forkrun.fork.memory import prepare_memory
from forkrun.fork.safety import check_safe_to_fork
from forkrun.fork.signals import LUMI_SIGNALS, PYTHON_STACKS, STOP_SIGNALS, StopFlag
from forkrun.fork.supervisor import Supervisor
from forkrun.formats import format_named
from forkrun.index.model import Flags
from forkrun.monitoring.timeline import Timeline
from forkrun.parent.bad_files import BadFiles
from forkrun.parent.commits import Commits
from forkrun.parent.crew import JobCrew
from forkrun.parent.deadline import Deadline
from forkrun.parent.ending import Ending
from forkrun.parent.messages import Messages
from forkrun.parent.observer import RunObserver
from forkrun.parent.outcome import raise_for, stopped
from forkrun.parent.page_watch import watching
from forkrun.parent.preparation import PreparedJob
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit
from forkrun.rundir.unit_files import UnitFiles
from forkrun.schedule.job_schedule import processor_settings

_FEW_CHILDREN = 2
"""Most children without a warm-up job, which costs as much as three children's own loading."""


class Run(Struct, frozen=True):
    """Objects shared by the steps of a run. `deadline`: None if time is unlimited; `tick_also`:
    called several times per second."""

    folder: RunDirectory
    job: PreparedJob
    timeline: Timeline
    messages: Messages
    deadline: Deadline | None
    tick_also: Callable[[], None]
    bad_files: BadFiles


def process(run: Run, before: Sequence[Commit]) -> None:
    """Processes all uncommitted units. Raises the error that ended the job."""
    plan, config = run.job.plan, run.job.config
    merged_bytes = run.job.event_bytes if config.merge.enabled else 0.0
    commits = Commits(run.folder, len(plan.units), merged_bytes, before)
    left_out = run.bad_files.left_out
    if (commits.is_done | left_out).all():
        return
    hand_out = _hand_out(run.job, ~commits.is_done & ~left_out)
    shared = SharedState.of(hand_out, config.forking.children, left_out)
    conditions = run.job.schedule.conditions.loaded()
    guard = ConditionGuard(conditions, config.memory.check_conditions)
    files = UnitFiles(run.folder, config.outputs)
    settings = processor_settings(config, run.job.schedule.reads_ahead)
    work = Work(run.job, shared, files, guard, run.timeline, settings)
    progress = make_progress(plan.n_events, "events", run.messages.quiet)
    observer = RunObserver(
        run.folder, run.timeline, shared.board, progress, run.messages, commits.n_events,
        run.tick_also, config.monitoring, run.job.cuts,
    )  # fmt: skip
    try:
        if config.forking.children:
            _process_in_children(run, work, commits, observer)
        else:
            _process_here(run, work, observer)
    finally:
        observer.close()


def _hand_out(job: PreparedJob, to_do: Flags) -> HandOut:
    units = job.plan.units
    at_cluster = units.at_cluster(job.clusters)
    are_far = [is_url(name) for name in job.plan.files]
    is_far = units.are_in(are_far) if any(are_far) else None
    return HandOut(job.plan, to_do, job.joins_previous, at_cluster, is_far)


def _process_in_children(run: Run, work: Work, commits: Commits, observer: RunObserver) -> None:
    idle = work.job.config.forking.children - len(run.job.plan.busy_children())
    if idle:
        run.messages.say(f"{idle} of the children would have no unit of work and are not started")
    _get_ready_to_fork(run, work)
    parent = os.getpid()
    config, shared = work.job.config, work.shared
    n_threads = merge_threads(config.forking.children, config.threads.per_child)
    ending = Ending(
        shared.board, shared.hand_out, commits, config.recovery.grace, run.deadline, n_threads
    )
    crew = JobCrew(work, commits, ending, observer, run.bad_files)

    def process_of(child: int) -> Process:
        log = run.folder.log(f"child-{child:03d}", parent)
        assignment = crew.assignments[child]
        return Process(lambda: run_child(watched, child, assignment), log)

    try:
        with watching(work) as watched:
            Supervisor(process_of, crew, (*STOP_SIGNALS, *LUMI_SIGNALS)).run()
    except OSError as error:
        raise JobError(
            f"cannot fork: {error.strerror}; free memory, threads or processes (ulimit -u)"
        ) from error
    raise_for(ending, run.folder, commits, run.job, run.bad_files.left_out)


def _get_ready_to_fork(run: Run, work: Work) -> None:
    """Prepares the parent for the fork; its memory stays unchanged from here on."""
    schedule, settings = work.job.schedule, work.job.config.memory
    if schedule.modules:
        from forkrun.schedule.imports_ahead import load_arrays

        load_arrays(schedule.modules.values())
    _warm_up(work)
    _core.write_stacks_on_signal()
    faulthandler.register(PYTHON_STACKS, file=2, all_threads=True)
    work.guard.remember(schedule.modules)
    with step("modules got pre_fork()"):
        schedule.core.pre_fork()
    work.guard.check()
    check_safe_to_fork()
    conditions = [value for _, value in schedule.conditions.loaded()]
    shared = [*conditions, *schedule.modules.values()]
    warning = prepare_memory(settings, shared, run.job.plan.children).warning()
    if warning:
        run.messages.say(warning)


def _warm_up(work: Work) -> None:
    """Starts ROOT's interpreter if needed, which is most of what children load; runs the warm-up
    job, a third of a second more, where it pays."""
    if not work.job.config.memory.warm_up:
        return
    with step("libraries were warmed up"):
        if not _is_input_plain(work):
            _core.warm_up()
        format_named(work.job.schedule.input_format).warm_up()
        if _does_warm_up_job_pay(work):
            from forkrun.parent.warm_up import run_warm_up_job  # not needed by many jobs

            run_warm_up_job(list(work.job.schedule.modules.values()))


def _is_input_plain(work: Work) -> bool:
    """Whether the job can do without ROOT, according to the first file with events."""
    config, plan = work.job.config, work.job.plan
    number = int(plan.units.file[0]) if len(plan.units.file) else 0
    first = plan.files[number]
    tree = plan.trees[number] if plan.trees else config.source.tree
    try:
        needs_root = format_named(work.job.schedule.input_format).needs_root
        return not needs_root(first, tree, for_outputs=bool(config.outputs))
    except InputError:
        return False


def _does_warm_up_job_pay(work: Work) -> bool:
    """Whether the warm-up job pays: not with few children. With conditions, memory counts, also in
    a process without children, for comparison with a parent and its children."""
    return work.job.plan.children > _FEW_CHILDREN or bool(work.job.config.conditions)


def _process_here(run: Run, work: Work, observer: RunObserver) -> None:
    """Processes without a fork (children = 0): no other process replaces this one if it dies."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    stop = StopFlag(lambda: work.shared.board.give_order(0, "end_after_block"), *numbers)
    try:
        _warm_up(work)
        work.guard.remember(work.job.schedule.modules)
        work.job.schedule.core.pre_fork()
        work.guard.check()
        _core.trim_heap()
        observer.tick()  # Memory that children would share is complete now.
        process_units(work, 0, Assignment(), lambda: _tick_here(run, work, observer, stop))
    except Exception as error:
        raise as_forkrun_error(error) from error
    finally:
        stop.restore()
    if stop.number:
        raise stopped(stop.number, run.folder)


def _tick_here(run: Run, work: Work, observer: RunObserver, stop: StopFlag) -> None:
    stop.poll()
    observer.tick()
    if run.deadline and time.monotonic() > run.deadline.at_s:
        work.shared.hand_out.close()
