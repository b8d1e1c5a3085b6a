"""Runs a job from start to end in this process and its forked children; resumes an interrupted
one."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from forkrun.base.caller import option
from forkrun.base.durable import output_errors, write_columns, write_json
from forkrun.base.quantities import plural
from forkrun.base.regular_file import read_regular
from forkrun.conditions.snapshots import conditions_to_json, summary
from forkrun.config.model import JobConfig
from forkrun.errors import (
    DamagedFilesError,
    FilesLeftOutError,
    ForkrunError,
    InputError,
    JobError,
    OutOfTimeError,
    OutputError,
    StoppedError,
)
from forkrun.fork.memory import expect_objects
from forkrun.fork.safety import check_safe_to_fork
from forkrun.merge.verify import merge_problem
from forkrun.monitoring.timeline import Timeline
from forkrun.parent.again.keeping import Keeping, decide, is_joined
from forkrun.parent.bad_files import BadFiles, files_that_came_back
from forkrun.parent.deadline import find_deadline
from forkrun.parent.messages import ChildLogs, Messages
from forkrun.parent.preparation import PreparedJob, prepare
from forkrun.parent.processing import Run, process
from forkrun.parent.result import Result
from forkrun.plan.model import read_plan
from forkrun.plan.part import Part
from forkrun.rundir.build import build_identity
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.done import check_same_job, is_worth_keeping, valid_commits
from forkrun.rundir.ledger import Commit, read_ledgers, units_by_build, write_kept
from forkrun.rundir.lock import RunLock
from forkrun.rundir.lumi_accounting import write_lumi_accounting
from forkrun.rundir.opening import (
    check_can_begin,
    check_place,
    clear,
    holds_run,
    make_folders,
    opened_to_begin,
    remove_left_over,
    remove_results,
    write_config,
)
from forkrun.rundir.output_content import OutputContents
from forkrun.schedule.found_out import FoundOut

_ROUNDS = 3
"""Number of attempts to process units whose files turn out damaged."""
_PROBLEMS_SHOWN = 10


def run_job(
    config: JobConfig,
    path: Path,
    *,
    force: bool = False,
    quiet: bool = False,
    plots: bool = False,
    part: Part | None = None,
    known: FoundOut | None = None,
    reduced: Callable[[PreparedJob], PreparedJob] = lambda job: job,
    logs: bool = False,
    explain: bool = False,
    is_new: bool = True,
) -> Result:
    """Runs the whole job: check, process, merge, report; only the rest if the run directory holds a
    started run. `part`: only these units of the plan of a job on many nodes, with its `known`
    findings about modules; `reduced`: checks the prepared job of a node, and reduces it to the
    results to compute. `logs`: also shows output printed by modules. `explain`: gives the reason
    for computing each result; not `is_new`: keeps existing results that are otherwise always
    computed. Raises a ForkrunError that describes the problem; files under final names are always
    verified."""
    start_s = time.monotonic()
    folder = RunDirectory(path.absolute())
    check_can_begin(folder)
    if config.forking.children:
        check_safe_to_fork()
    expect_objects(config.memory)
    job = reduced(prepare(config, quiet, part, known=known))
    config = job.config
    with opened_to_begin(folder) as lock, output_errors(folder.path), _keeping(lock, config):
        check_place(folder)
        is_resumed = holds_run(folder, force) and (
            part is not None or is_worth_keeping(folder, job.fingerprint)
        )
        if is_resumed and (back := files_that_came_back(folder, job.unreadable)):
            said = f"{back[0]}: can be read now; the job starts again, as its plan has more events"
            Messages(folder, quiet).say(said)
            is_resumed = False
        keeping = None
        if part is None:
            keeping, is_resumed = decide(folder, job, is_resumed, force=force, is_new=is_new)
            if is_resumed:
                check_same_job(folder, job.fingerprint)
        if is_resumed and folder.is_finished() and _is_merged(folder, config, lock):
            job = keeping.whole_job if keeping else job
            return _already_done(folder, job, lock, quiet, plots)
        if keeping is not None:
            if is_joined(folder, keeping):
                return _join(folder, keeping, lock, quiet, plots, explain)
            job = keeping.job
        before = (
            _continue(folder, job, lock, keeping)
            if is_resumed
            else _begin(folder, job, keeping, force=force)
        )
        _say_kept(Messages(folder, quiet), keeping, explain)
        deadline = find_deadline(config.limits.walltime, start_s)
        messages = Messages(folder, quiet)
        timeline = Timeline(folder.path)
        child_logs = ChildLogs(folder, os.getpid(), logs)

        def tick() -> None:
            lock.keep()
            child_logs.tick()

        skips = config.recovery.leaves_files_out and config.forking.children > 0
        bad_files = BadFiles(job.plan.units, job.plan.files, job.unreadable, is_to_skip=skips)
        run = Run(folder, job, timeline, messages, deadline, tick, bad_files)
        _record_preparation(run, before)
        _process_and_report(run, lock, before, plots, child_logs)
    return Result.read(folder.path)


def _keeping(lock: RunLock, config: JobConfig) -> contextlib.AbstractContextManager[None]:
    """Keeps the lock in a thread for a job without children, whose loop stops while it processes a
    unit. A parent that forks keeps it in its loop: it may have no other thread."""
    return contextlib.nullcontext() if config.forking.children else lock.kept_by_thread()


def _is_merged(folder: RunDirectory, config: JobConfig, lock: RunLock) -> bool:
    """Whether the outputs are intact after their merge; if not, removes the record of the merge."""
    if config.outputs:
        from forkrun.parent.merging import problem_of_merge

        problem = problem_of_merge(folder, config, lock.keep)
    else:  # a look at sizes, which needs no process of its own
        problem = merge_problem(folder, config)
    if problem:
        Messages(folder, quiet=False).say(f"{problem}: the run is merged again")
    return problem is None


def _already_done(
    folder: RunDirectory, job: PreparedJob, lock: RunLock, quiet: bool, plots: bool
) -> Result:
    """Ends a merged run, also one whose parent was killed just after the merge, or while it removed
    temporary outputs."""
    messages = Messages(folder, quiet)
    keeps = job.config.merge.keep_temporary
    if not folder.has_good_report() or (folder.units.is_dir() and not keeps):
        from forkrun.parent.merging import end_merge

        timeline = Timeline(folder.path)
        end_merge(folder, job.config, timeline)
        timeline.record("job_end", pid=os.getpid(), outcome="ok")
        timeline.close()
        write_lumi_accounting(folder, job.plan.units)
        _report(folder, job, lock, messages, plots)
    remove_left_over(folder, temporary_outputs=not keeps)
    messages.say(f"{folder.path}: already done; {option('--force')} does it again")
    return Result.read(folder.path)


def _say_kept(messages: Messages, keeping: Keeping | None, explain: bool) -> None:
    """Reports kept results, or why there are none; with `explain`, why each result is computed."""
    if keeping is None:
        return
    if keeping.run.kept or keeping.before:
        messages.say(keeping.text)
    if explain:
        messages.say("\n".join(keeping.explained()))


def _join(
    folder: RunDirectory, keeping: Keeping, lock: RunLock, quiet: bool, plots: bool, explain: bool
) -> Result:
    """Makes the outputs from stored results alone: the events were processed before."""
    job = keeping.results.job
    job = replace(job, plan=replace(job.plan, units=read_plan(folder).units))
    remove_results(folder)
    describe_job(folder, job, keeping)
    run = _run_of(folder, job, lock, quiet)
    _say_kept(run.messages, keeping, explain)
    _merge(run, is_whole=True)
    _end(run, lock, "ok", plots)
    return Result.read(folder.path)


def _run_of(folder: RunDirectory, job: PreparedJob, lock: RunLock, quiet: bool) -> Run:
    """Makes a run without units to process."""
    timeline, messages = Timeline(folder.path), Messages(folder, quiet)
    none = BadFiles(job.plan.units, job.plan.files, job.unreadable, is_to_skip=False)
    run = Run(folder, job, timeline, messages, None, lock.keep, none)
    timeline.record("job_start", pid=os.getpid(), time_s=job.start_s)
    return run


def _begin(
    folder: RunDirectory, job: PreparedJob, keeping: Keeping | None, *, force: bool
) -> list[Commit]:
    clear(folder, stored=force or keeping is None)
    before = keeping.commits(folder) if keeping else []
    if before:
        make_folders(folder)
        write_kept(str(folder.ledger), before)
    describe_job(folder, job, keeping)
    return before


def _continue(
    folder: RunDirectory, job: PreparedJob, lock: RunLock, keeping: Keeping | None
) -> list[Commit]:
    n_events = job.plan.units.n_events
    remove_results(folder)
    commits, problems = valid_commits(folder, n_events, thorough=True, tick=lock.keep)
    describe_job(folder, job, keeping)
    _report_redone(Messages(folder, quiet=False), problems)
    return commits


def describe_job(folder: RunDirectory, job: PreparedJob, keeping: Keeping | None = None) -> None:
    """Writes the description of the job, the fingerprint last: without it no job was started.
    `keeping`: `job` is only the computed part of its whole job."""
    whole = keeping.results.job if keeping else job
    write_config(folder, whole.config)
    make_folders(folder)
    write_columns(folder.input_lumis, job.input_lumis.columns())
    write_columns(folder.plan, job.plan.described())
    if len(job.config.datasets) > 1:
        known = job.schedule.found.sums_of_weights
        are_normalised = whole.schedule.weights_are_normalised
        described = {"sums_of_weights": known, "weights_are_normalised": are_normalised}
        write_json(folder.datasets, described)
    if job.config.conditions:
        write_json(folder.conditions, conditions_to_json(job.schedule.conditions))
    contents = OutputContents(
        job.schedule.outputs,
        job.clusters,
        job.clusters_with_events,
        job.schedule.input_format,
    )
    write_json(folder.output_contents, msgspec.to_builtins(contents), indent=None)
    if keeping:
        keeping.run.write(folder)
    write_json(folder.fingerprint, job.fingerprint)


def write_found(folder: RunDirectory, job: PreparedJob) -> None:
    """Writes the findings about modules and input, for the nodes of a job."""
    schedule = job.schedule
    found = {**msgspec.to_builtins(schedule.found), "histograms": schedule.histogram_forms()}
    write_json(folder.found_out, found, indent=None)


def read_found(folder: RunDirectory) -> FoundOut:
    """Findings made when the job was submitted. Raises OutputError."""
    try:
        return msgspec.json.decode(read_regular(folder.found_out), type=FoundOut)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        what = f"cannot be read: {error}; submit to another folder"
        raise OutputError(f"{folder.found_out}: {what}") from None


def _report_redone(messages: Messages, problems: Sequence[str]) -> None:
    lines = [f"{problem}; it is processed again" for problem in problems[:_PROBLEMS_SHOWN]]
    if len(problems) > _PROBLEMS_SHOWN:
        lines.append(f"and {len(problems) - _PROBLEMS_SHOWN:,} more are processed again")
    if lines:
        messages.say("\n".join(lines))


def _process_and_report(
    run: Run, lock: RunLock, before: Sequence[Commit], plots: bool, logs: ChildLogs
) -> None:
    try:
        _process_and_merge(run, before)
        logs.tick()
    except ForkrunError as error:
        with contextlib.suppress(OSError, ForkrunError):  # on a full disk the first error counts
            is_stopped = isinstance(error, StoppedError | OutOfTimeError | FilesLeftOutError)
            outcome, *more = str(error).splitlines()
            _end(run, lock, outcome, plots, unfinished=is_stopped, more=more)
            run.messages.note(str(error))
        raise
    if warning := logs.warning():
        run.timeline.record("warning", pid=os.getpid(), text=warning)
    _end(run, lock, "ok", plots)


def _record_preparation(run: Run, before: Sequence[Commit]) -> None:
    pid, job = os.getpid(), run.job
    run.timeline.record("job_start", pid=pid, time_s=job.start_s)
    run.timeline.record("index_done", pid=pid, time_s=job.index_done_s)
    ahead = job.schedule.reads_ahead
    run.timeline.record("modules_built", pid=pid, time_s=job.modules_built_s, reads_ahead=ahead)
    run.timeline.record("histograms", pid=pid, shared=job.schedule.shared_histograms())
    for text in job.schedule.warnings:
        run.timeline.record("warning", pid=pid, text=text)
    plan = job.plan
    run.messages.say(
        f"{plural(plan.n_events, 'event')} in {plural(plan.n_lumis, 'lumi')} of"
        f" {plan.input_text}; {plural(len(plan.units), 'unit')} of work for"
        f" {plan.children} {'child' if plan.children == 1 else 'children'} ({plan.distribution})"
    )
    for note in plan.notes:
        run.messages.say(note)
    if job.config.conditions:
        run.messages.say(summary(job.schedule.conditions))
    if before := [commit for commit in before if not commit.computed_s]:
        n_units = sum(commit.n_units for commit in before)
        n_events = sum(commit.n_events for commit in before)
        run.timeline.record("resume", pid=pid, n_units=n_units)
        run.messages.say(
            f"{plural(n_units, 'unit')} ({plural(n_events, 'event')}) committed before"
        )
        if others := [build for build in units_by_build(before) if build != build_identity()]:
            run.messages.say(
                f"warning: they were processed by forkrun {', '.join(others)}; this is"
                f" {build_identity()}"
            )


def _end(
    run: Run, lock: RunLock, outcome: str, plots: bool, *,
    unfinished: bool = False, more: Sequence[str] = (),
) -> None:  # fmt: skip
    run.timeline.record(
        "job_end", pid=os.getpid(), outcome=outcome, unfinished=unfinished, help=more
    )
    run.timeline.close()
    write_lumi_accounting(run.folder, run.job.plan.units, in_input=run.job.input_lumis)
    _report(run.folder, run.job, lock, run.messages, plots)


def _report(
    folder: RunDirectory, job: PreparedJob, lock: RunLock, messages: Messages, plots: bool
) -> None:
    """Writes the report; its failure does not fail the job. Forks no more processes."""
    from forkrun.monitoring.report.write import write_report  # loaded while children process events

    try:
        with lock.kept_by_thread():
            write_report(folder.path, plots=plots, plan=job.plan.described())
    except Exception as error:
        messages.say(
            f"the report could not be written: {error or type(error).__name__};"
            f" forkrun report {folder.quoted} tries it again"
        )


def _process_and_merge(run: Run, before: Sequence[Commit]) -> None:
    """Processes and merges, repeatedly while the merge finds changed files, or unreadable ones,
    which are left out. Raises FilesLeftOutError if there are any."""
    config, commits, n_damaged = run.job.config, list(before), 0
    while True:
        try:
            _process_until_whole(run, commits)
        except (StoppedError, OutOfTimeError):
            if config.merge.enabled and config.merge.when_stopped:
                _merge_committed(run)
            raise
        try:
            if config.merge.enabled:
                _merge(run, is_whole=not run.bad_files.why)
            break
        except DamagedFilesError as error:
            n_damaged += 1
            if n_damaged == _ROUNDS:
                raise
            _report_redone(run.messages, str(error).splitlines())
        except InputError as error:
            said = run.bad_files.note(error)
            if not said:
                raise
            run.messages.say(f"{error}: {said}")
            run.bad_files.revoke(run.folder)
        commits = read_ledgers(run.folder.ledger)
    for file, why in run.bad_files.why.items():
        late = {} if file in run.job.unreadable else {"left_out_late": True}
        run.timeline.record("warning", pid=os.getpid(), text=f"{file}: left out: {why}", **late)
    run.bad_files.raise_if_any(run.folder)


def _merge(run: Run, *, is_whole: bool) -> None:
    from forkrun.parent.merging import merge  # loaded while children process events

    job = run.job
    merge(
        run.folder, job.config, job.plan, run.timeline, run.messages.quiet,
        is_whole=is_whole, left_out=run.bad_files.numbers, tick_also=run.tick_also, part=job.part,
    )  # fmt: skip


def _merge_committed(run: Run) -> None:
    """Merges the committed units, except those whose files turn out damaged."""
    try:
        _merge(run, is_whole=False)
    except DamagedFilesError as error:
        _report_redone(run.messages, str(error).splitlines())
        _merge(run, is_whole=False)


def _process(run: Run, commits: Sequence[Commit]) -> None:
    """Processes the remaining units. Failures of the parent become ForkrunErrors, too: in a
    module's pre_fork(), or for lack of shared memory."""
    try:
        process(run, commits)
    except (MemoryError, OSError) as error:
        if isinstance(error, OSError) and error.errno != errno.ENOMEM:
            raise
        what = "no memory for what parent and children share; use fewer children, or free memory"
        raise JobError(what) from error


def _process_until_whole(run: Run, before: Sequence[Commit]) -> None:
    """Processes until the files of all units are intact."""
    commits, problems = list(before), [""]
    for _ in range(_ROUNDS):
        _process(run, commits)
        commits, problems = valid_commits(run.folder, run.job.plan.units.n_events, thorough=False)
        if not problems:
            return
        _report_redone(run.messages, problems)
    raise OutputError(f"temporary outputs do not stay as they are written: {problems[0]}")
