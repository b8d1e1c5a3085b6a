"""Merges a run in a short-lived process: ROOT's files and caches end with it, and the parent stays
a clean template for forks."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from msgspec import to_builtins

from forkrun.base.cpus import merge_threads
from forkrun.base.destinations import is_pattern
from forkrun.base.durable import write_json
from forkrun.base.progress import make_progress
from forkrun.base.regular_file import read_regular
from forkrun.base.wait_status import describe_status
from forkrun.config.model import JobConfig
from forkrun.config.remote import about_access
from forkrun.errors import ForkrunError, InputError, JobError, StoppedError, VerificationError
from forkrun.fork.failure import as_forkrun_error
from forkrun.fork.helper import Say, insist
from forkrun.fork.limits import limit_growth
from forkrun.merge.kept import Kept
from forkrun.merge.output_parts import Merging, make_part
from forkrun.merge.planned import Planned, merge_order
from forkrun.merge.run import merge_run
from forkrun.merge.verify import merge_problem
from forkrun.monitoring.timeline import Timeline
from forkrun.plan.model import Plan, read_plan
from forkrun.plan.part import Part
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit
from forkrun.rundir.nodes import read_commits
from forkrun.rundir.opening import remove_left_over, remove_unfinished_results
from forkrun.rundir.output_content import read_contents

_CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL)


def merge(
    folder: RunDirectory,
    config: JobConfig,
    plan: Plan,
    timeline: Timeline,
    quiet: bool,
    *,
    is_whole: bool = True,
    left_out: Collection[int] = (),
    commits: Sequence[Commit] | None = None,
    tick_also: Callable[[], None] = lambda: None,
    part: Part | None = None,
) -> None:
    """Merges and verifies; in this process for a job without children. Not `is_whole`: merges an
    incomplete job and keeps its temporary outputs; files `left_out`, by number, are not opened.
    `commits`: if already read; `part`: the plan is a node's part of the job's. Raises the error of
    the merge; DamagedFilesError: units are no longer committed. `tick_also` is called several times
    per second, but not without children."""
    timeline.record("merge_start", pid=os.getpid())
    progress = make_progress(len(plan.units) * len(config.outputs), "merged", quiet)

    def work(say: Say) -> None:
        planned = _planned(folder, config, plan, part, is_whole=is_whole, left_out=left_out)
        _merge_here(folder, config, planned, commits, say)

    try:
        _do(folder, config, work, tick_also, plan, progress.update)
    finally:
        progress.close()
    end_merge(folder, config, timeline, is_whole=is_whole)


def merge_part(
    folder: RunDirectory, config: JobConfig, plan: Plan, commits: Sequence[Commit], number: int,
    n_parts: int, tick: Callable[[], None],
) -> None:  # fmt: skip
    """Makes one of `n_parts` parts of the outputs, to be joined by a merge; in its own process,
    like a merge. All units are committed. Raises the error of the merge."""

    def work(say: Say) -> None:
        try:
            ordered = merge_order(plan.units.n_events, commits)
            reduced = Kept.of(folder, config).reduced
            planned = _planned(folder, config, plan, None, is_whole=True)
            merging = Merging(folder, reduced, planned, ordered)
            make_part(merging, number, n_parts, lambda file: say({"file": file}))
        except Exception as error:
            raise _explained(error) from error

    _do(folder, config, work, tick, plan)


def problem_of_merge(
    folder: RunDirectory, config: JobConfig, tick_also: Callable[[], None]
) -> str | None:
    """Describes a defect in the results of an earlier merge; None if they are intact. Runs in its
    own process, like a merge."""

    def work(_: Say) -> None:
        trees = read_plan(folder).trees if is_pattern(config.source.tree) else ()
        if problem := merge_problem(folder, config, config.source.tree_names.in_outputs(trees)):
            raise VerificationError(problem)

    try:
        _do(folder, config, work, tick_also)
    except VerificationError as error:
        return str(error)
    return None


def end_merge(
    folder: RunDirectory, config: JobConfig, timeline: Timeline, *, is_whole: bool = True
) -> None:
    """Finishes a merge that has written its summary; may be repeated."""
    summary = json.loads(read_regular(_summary(folder, is_whole)))
    outputs = {output.pop("label"): output for output in summary["outputs"]}
    not_finite = summary.get("not_finite", {})
    timeline.record("merge_end", pid=os.getpid(), outputs=outputs, not_finite=not_finite)
    remove_left_over(folder, temporary_outputs=is_whole and not config.merge.keep_temporary)


def _summary(folder: RunDirectory, is_whole: bool) -> Path:
    return folder.merge_summary if is_whole else folder.partial_merge_summary


def _merge_here(
    folder: RunDirectory,
    config: JobConfig,
    planned: Planned,
    commits: Sequence[Commit] | None,
    say: Say,
) -> None:
    """Reports the number of merged units, summed over outputs, and the number of each input file
    just before it is opened."""
    done: dict[str, int] = {}

    def note(label: str, n_units: int) -> None:
        done[label] = n_units
        say({"units": sum(done.values())})

    try:
        remove_unfinished_results(folder)
        commits = read_commits(folder) if commits is None else commits
        summary = merge_run(
            folder.path, config, planned, commits, note, lambda file: say({"file": file})
        )
    except Exception as error:
        raise _explained(error) from error
    write_json(_summary(folder, planned.is_whole), to_builtins(summary))


def _planned(
    folder: RunDirectory,
    config: JobConfig,
    plan: Plan,
    part: Part | None,
    *,
    is_whole: bool,
    left_out: Collection[int] = (),
) -> Planned:
    carries = part.carries_as_read if part else None
    plan = part.plan_as_read if part else plan
    return Planned(
        plan.units, plan.files, plan.n_events, plan.digest, plan.identities, read_contents(folder),
        config.source.ids, is_whole, plan.datasets, plan.trees,
        config.source.tree_names.in_outputs(plan.trees), left_out, carries,
    )  # fmt: skip


def _do(
    folder: RunDirectory,
    config: JobConfig,
    work: Callable[[Say], None],
    tick: Callable[[], None],
    plan: Plan | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> None:
    """Runs `work` in a child, or here for a job without children. It reports the file of the plan
    that it opens, and the number of merged units, for `progress`."""
    log, opened = folder.log("merge", os.getpid()), [""]

    def hear(said: Mapping[str, int]) -> None:
        if plan and "file" in said:
            opened[0] = plan.files[said["file"]]
        else:
            progress(said["units"])

    def limits() -> None:
        n_threads = merge_threads(config.forking.children, config.threads.per_child)
        if plan:
            limit_growth(plan.files, n_threads)

    if not config.forking.children:
        work(hear)
        return
    try:
        insist(
            work, lambda code: crash_of_merge(code, log, opened[0]), hear,
            limits=limits, log=log, tick=tick,
        )  # fmt: skip
    except StoppedError as error:
        what = f"stopped while merging; forkrun merge {folder.quoted} does it again"
        raise StoppedError(what, error.signal_number) from None


def _explained(error: Exception) -> ForkrunError:
    """Adds the state of the proxy or token to an error, if a server refuses access."""
    known = as_forkrun_error(error)
    about = about_access(str(known))
    return type(known)(f"{known}{about}") if about else known


def crash_of_merge(exit_code: int, log: Path, file: str) -> ForkrunError:
    """Error for a killed process: names the file if ROOT or the reader crashed."""
    status = describe_status(exit_code)
    if file and -exit_code in _CRASHES:
        return InputError(
            f"{file}: the merging process ended while it read this file: {status};"
            f" the file may be damaged; log: {log}"
        )
    return JobError(f"the merging process ended: {status}; its log: {log}")
