"""Merges a run in a short-lived process: what ROOT opens and keeps for it ends there, and the
parent stays a clean template to fork from."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import signal
import struct
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from forkrun.base.cpus import merge_threads
from forkrun.base.durable import write_json
from forkrun.base.progress import make_progress
from forkrun.base.regular_file import read_regular
from forkrun.base.wait_status import describe_status
from forkrun.config import JobConfig
from forkrun.errors import ForkrunError, InputError, JobError, StoppedError, VerificationError
from forkrun.fork.contained import limit_growth
from forkrun.fork.failure import FailureNote, as_forkrun_error
from forkrun.fork.forking import Process
from forkrun.fork.once_crew import OnceCrew
from forkrun.fork.supervisor import Supervisor
from forkrun.merge.finished import merge_problem
from forkrun.merge.order import merge_order
from forkrun.merge.output import Planned
from forkrun.merge.output_parts import Merging, make_part
from forkrun.merge.run import merge_run
from forkrun.monitoring import Timeline
from forkrun.plan import Plan
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit
from forkrun.rundir.nodes import read_commits
from forkrun.rundir.output_content import read_contents
from forkrun.rundir.start import remove_left_over, remove_unfinished_results

_CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL)


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


def merge(
    folder: RunDirectory,
    config: JobConfig,
    plan: Plan,
    timeline: Timeline,
    quiet: bool,
    *,
    is_whole: bool = True,
    commits: Sequence[Commit] | None = None,
    tick_also: Callable[[], None] = lambda: None,
) -> None:
    """Merges and verifies; in this process if the job is one without children. Not `is_whole`: what
    there is, and the temporary outputs stay. `commits`: if they were read already. Raises what went
    wrong; DamagedFilesError: units are not committed any more. `tick_also` is called several times
    per second, but not without children."""
    timeline.record("merge_start", pid=os.getpid())
    progress = make_progress(len(plan.units) * len(config.outputs), "merged", quiet)
    try:
        if config.forking.children:
            counter, opened = _Counter(), _Counter()

            def body() -> None:
                limit_growth(plan.files, _n_threads(config))
                _merge_here(
                    folder,
                    config,
                    plan,
                    is_whole,
                    commits,
                    counter.set,
                    lambda file: opened.set(file + 1),
                )

            def tick() -> None:
                progress.update(counter.value)
                tick_also()

            _do_in_child(folder, body, tick, lambda: _file_read(plan, opened.value))
        else:
            _merge_here(folder, config, plan, is_whole, commits, progress.update, lambda _: None)
    finally:
        progress.close()
    end_merge(folder, config, timeline, is_whole=is_whole)


def merge_part(
    folder: RunDirectory, config: JobConfig, plan: Plan, commits: Sequence[Commit], number: int,
    n_parts: int, tick: Callable[[], None],
) -> None:  # fmt: skip
    """Makes one of so many parts of the outputs, which a merge joins; like a merge, in a process of
    its own. All units are committed. Raises what went wrong."""
    opened = _Counter()

    def body() -> None:
        try:
            if config.forking.children:
                limit_growth(plan.files, _n_threads(config))
            ordered = merge_order(plan.units.n_events, commits)
            merging = Merging(folder, config, _planned(folder, plan, is_whole=True), ordered)
            make_part(merging, number, n_parts, lambda file: opened.set(file + 1))
        except Exception as error:
            raise as_forkrun_error(error) from error

    if config.forking.children:
        _do_in_child(folder, body, tick, lambda: _file_read(plan, opened.value))
    else:
        body()


def problem_of_merge(
    folder: RunDirectory, config: JobConfig, tick_also: Callable[[], None]
) -> str | None:
    """What is wrong with what an earlier merge has left; None if nothing is. Like a merge, in a
    process of its own."""
    if not config.forking.children:
        return merge_problem(folder, config)

    def body() -> None:
        problem = merge_problem(folder, config)
        if problem:
            raise VerificationError(problem)

    try:
        _do_in_child(folder, body, tick_also)
    except VerificationError as error:
        return str(error)
    return None


def end_merge(
    folder: RunDirectory, config: JobConfig, timeline: Timeline, *, is_whole: bool = True
) -> None:
    """Finishes a merge that has written its summary; may be done twice."""
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
    plan: Plan,
    is_whole: bool,
    commits: Sequence[Commit] | None,
    progress: Callable[[int], None],
    on_open: Callable[[int], None],
) -> None:
    """`progress` gets the number of units that have been merged, summed over outputs; `on_open` the
    number of each input file just before it is opened."""
    done: dict[str, int] = {}

    def note(label: str, n_units: int) -> None:
        done[label] = n_units
        progress(sum(done.values()))

    try:
        remove_unfinished_results(folder)
        commits = read_commits(folder) if commits is None else commits
        planned = _planned(folder, plan, is_whole=is_whole)
        summary = merge_run(folder.path, config, planned, commits, note, on_open)
    except Exception as error:
        raise as_forkrun_error(error) from error
    write_json(_summary(folder, is_whole), asdict(summary))


def _planned(folder: RunDirectory, plan: Plan, *, is_whole: bool) -> Planned:
    return Planned(
        plan.units, plan.files, plan.n_events, plan.digest, plan.identities, read_contents(folder),
        is_whole,
    )  # fmt: skip


def _n_threads(config: JobConfig) -> int:
    return merge_threads(config.forking.children, config.threads.per_child)


def _file_read(plan: Plan, number: int) -> str | None:
    """The input file with this number, counted from 1; 0: none has been opened."""
    return plan.files[number - 1] if number else None


def _do_in_child(
    folder: RunDirectory,
    body: Callable[[], None],
    tick: Callable[[], None],
    file_read: Callable[[], str | None] = lambda: None,
) -> None:
    """Does it in a child; in a new one if that is killed, three times at most. `file_read`: the
    input file that it opened last."""
    for last in (False, False, True):
        crew, failure = _do_once(folder, body, tick)
        if crew.signal_number:
            what = f"stopped while merging; forkrun merge {folder.quoted} does it again"
            raise StoppedError(what, crew.signal_number)
        if not crew.failed:
            return
        if failure or last:
            log = folder.log("merge", os.getpid())
            raise failure or crash_of_merge(crew.failed[1], log, file_read())


def crash_of_merge(exit_code: int, log: Path, file: str | None) -> ForkrunError:
    """What to say of a process that was killed: by a file, if ROOT or the reader crashed."""
    status = describe_status(exit_code)
    if file and -exit_code in _CRASHES:
        return InputError(
            f"{file}: the merging process ended while it read this file: {status};"
            f" is the file damaged? Its log: {log}"
        )
    return JobError(f"the merging process ended: {status}; its log: {log}")


def _do_once(
    folder: RunDirectory, body: Callable[[], None], tick: Callable[[], None]
) -> tuple[OnceCrew, ForkrunError | None]:
    failure = FailureNote()
    log = folder.log("merge", os.getpid())

    def noting_failure() -> int:
        try:
            body()
            return 0
        except ForkrunError as error:
            failure.write(error)
            with contextlib.suppress(OSError):  # its log may be on the disk that is full
                traceback.print_exc(file=sys.stderr)
            return error.exit_code

    crew = OnceCrew([0], tick)
    Supervisor(lambda _: Process(noting_failure, log), crew).run()
    return crew, failure.read()
