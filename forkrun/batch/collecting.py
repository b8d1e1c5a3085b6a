"""Merges the commits of all nodes: the same merge as for one node, with the same bytes."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from forkrun.base.durable import output_errors, remove, write_json
from forkrun.base.importing import collector_paused
from forkrun.base.quantities import plural
from forkrun.batch.course import read_course
from forkrun.batch.node import note_differences
from forkrun.batch.shipping import import_modules, new_code_warnings
from forkrun.batch.staging import stage_out
from forkrun.config.model import JobConfig
from forkrun.config.read import read_config
from forkrun.errors import ConfigError, DamagedFilesError, JobError
from forkrun.histograms.accumulators.totals import Own
from forkrun.merge.kept import SUBMIT_AGAIN
from forkrun.merge.node_outputs import forget_outputs, outputs_of_nodes
from forkrun.monitoring.host import describe_host
from forkrun.monitoring.report.write import write_report
from forkrun.monitoring.timeline import Timeline
from forkrun.parent.again.keeping import is_damaged
from forkrun.parent.merging import end_merge, merge, merge_part, problem_of_merge
from forkrun.parent.result import Result
from forkrun.plan.model import Plan, read_plan
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.done import missing_units
from forkrun.rundir.ledger import Commit
from forkrun.rundir.lock import RunLock, is_held
from forkrun.rundir.lumi_accounting import write_lumi_accounting
from forkrun.rundir.nodes import read_commits
from forkrun.rundir.opening import check_owner, find_nodes, opened_nodes, remove_results
from forkrun.rundir.packing import pack_batch, unpack_units

_SHOWN = 10
_MOST_PACKING_S, _LOOK_EVERY_S = 150.0, 0.1
"""Slightly longer than the lock time-out of a parent on another host."""


def collect(
    path: Path, *, partial: bool = False, quiet: bool = False, wait_s: float = 0.0
) -> tuple[Result, list[Path]]:
    """Merges, verifies and reports. `partial`: merges an incomplete job too, into `partial/`, and
    returns those files as well. `wait_s`: time to wait for another forkrun in the run directory.
    Raises JobError, which names the missing nodes."""
    missing: dict[int, int] = {}
    with opened_nodes(path, "collect", wait_s) as (folder, ranges, lock):
        config = read_config(folder.config)
        if folder.is_finished() and problem_of_merge(folder, config, lock.keep) is None:
            if not folder.has_good_report():
                _report_again(folder, config, lock)
        else:
            with collector_paused():
                commits = read_commits(folder)  # once: a job may have millions
            missing = missing_units(ranges, commits)
            if config.batch.makes_outputs_on_nodes:
                commits = _commits_of_made_outputs(folder, commits, missing)
            if missing and not partial:
                remove(folder.merge_summary)
                raise JobError(_describe_missing(folder, missing, len(ranges)))
            done = [n for n in range(len(ranges)) if n not in missing]
            _unpack(folder, done, lock.keep)
            computing = {ranges.node_of(each.unit) for each in commits if not each.computed_s}
            note_differences(folder, sorted(computing))
            _merge(folder, config, lock, commits, is_whole=not missing, quiet=quiet)
        if not missing:
            _stage_out(folder, config, lock, quiet)
            _remove_temporary(folder, config, lock, len(ranges))
            if not config.merge.keep_temporary:
                with lock.kept_by_thread():
                    pack_batch(folder, _files_of_ended_nodes(folder, len(ranges)))
        return Result.read(folder.path), _set_apart(folder) if missing else []


def _unpack(folder: RunDirectory, done: Sequence[int], keep: Callable[[], None]) -> None:
    """Unpacks the files of units into their original places. A finished node may still be packing
    them; no other node starts packing while the lock of the whole job is held, or its outputs are
    made in parts. `keep`: called repeatedly meanwhile."""
    until_s = time.monotonic() + _MOST_PACKING_S
    for number in done:
        node = folder.node(number)
        while is_held(node.lock) and time.monotonic() < until_s:
            time.sleep(_LOOK_EVERY_S)
            keep()
        unpack_units(node)
        keep()


def _files_of_ended_nodes(folder: RunDirectory, n_nodes: int) -> Iterator[Path]:
    """Files in `batch/` of nodes whose processes have ended and write no more; also the batch
    system's files, named by its own numbers, once all nodes have ended."""
    ended = [n for n in range(n_nodes) if read_course(folder, n).last_code is not None]
    for number in ended:
        yield from (folder.node_part(number), folder.node_ends(number), folder.batch_log(number))
    if len(ended) == n_nodes:
        yield from folder.batch_log(0).parent.glob("*-*-*_*.log")


def _set_apart(folder: RunDirectory) -> list[Path]:
    """Keeps incomplete outputs away from the names of complete ones."""
    with output_errors(folder.partial_output):
        folder.output.rename(folder.partial_output)
        folder.output.mkdir()
        return sorted(folder.partial_output.iterdir())


def collect_part(path: Path, number: int, n_parts: int) -> None:
    """Makes one of `n_parts` parts of the outputs in `batch/merge/`, for `collect` to join. Raises
    ConfigError, or JobError if nodes are missing."""
    folder, ranges = find_nodes(path, "collect")
    check_owner(folder.path)
    config = read_config(folder.config)
    if config.batch.makes_outputs_on_nodes:
        raise ConfigError(
            'collect --part: with batch.outputs = "on nodes" the nodes make the parts: forkrun'
            f" collect {folder.quoted} joins them"
        )
    if not 0 <= number < n_parts <= len(ranges):
        raise ConfigError(
            f"collect --part {number}/{n_parts}: write K/N, with K from 0 to N - 1 and N not more"
            f" than the job's {plural(len(ranges), 'node')}"
        )
    commits = read_commits(folder)
    if missing := missing_units(ranges, commits):
        raise JobError(_describe_missing(folder, missing, len(ranges)))
    if not folder.is_finished():
        with output_errors(folder.output_cuts):
            folder.output_cuts.parent.mkdir(exist_ok=True)
        _unpack(folder, range(len(ranges)), lambda: None)
        merge_part(folder, config, read_plan(folder), commits, number, n_parts, lambda: None)


def _stage_out(folder: RunDirectory, config: JobConfig, lock: RunLock, quiet: bool) -> None:
    if config.batch.stage_out:
        with lock.kept_by_thread():
            for name in stage_out(config.batch.stage_out, folder):
                if not quiet:
                    print(f"{name} was copied to storage")


def _commits_of_made_outputs(
    folder: RunDirectory, commits: Sequence[Commit], missing: dict[int, int]
) -> list[Commit]:
    """Commits of nodes that have made their parts of the outputs; adds the other nodes to
    `missing`."""
    ordered = sorted(commits, key=lambda commit: commit.unit)
    found: list[Commit] = []
    for number, made, own in outputs_of_nodes(folder, ordered):
        if made is not None:
            found += own
            continue
        missing.setdefault(number, 0)
        if not is_held(folder.node(number).lock):
            forget_outputs(folder.node(number))  # so that it is not taken for done
    return found


def _describe_missing(folder: RunDirectory, missing: dict[int, int], n_nodes: int) -> str:
    shown = [
        f"node {n}: {plural(left, 'unit') if left else 'its outputs'}"
        for n, left in list(missing.items())[:_SHOWN]
    ]
    shown += ["…"] if len(missing) > _SHOWN else []
    n, is_or_are = plural(n_nodes, "node"), "is" if len(missing) == 1 else "are"
    return (
        f"{folder.path}: {len(missing)} of {n} {is_or_are} not done ({'; '.join(shown)});"
        f" forkrun status {folder.quoted} says why, {_remedy(folder)},"
        " --partial merges what is there"
    )


def _remedy(folder: RunDirectory) -> str:
    if is_damaged(folder):
        return SUBMIT_AGAIN
    return f"forkrun resubmit {folder.quoted} processes the missing units"


def _merge(
    folder: RunDirectory,
    config: JobConfig,
    lock: RunLock,
    commits: Sequence[Commit],
    *,
    is_whole: bool,
    quiet: bool,
) -> None:
    start_s = time.time()
    plan = read_plan(folder)
    remove_results(folder)
    timeline = Timeline(folder.path)
    timeline.record("job_start", pid=os.getpid(), time_s=start_s)
    Own.import_modules = partial(import_modules, folder, config)
    keeping = contextlib.nullcontext() if config.forking.children else lock.kept_by_thread()
    try:
        with keeping:
            merge(
                folder, config, plan, timeline, quiet, is_whole=is_whole, commits=commits,
                tick_also=lock.keep,
            )  # fmt: skip
    except DamagedFilesError as error:
        raise DamagedFilesError(f"{error}\n{_remedy(folder)}") from None
    _report(folder, lock, timeline, plan, commits, is_whole=is_whole)


def _report_again(folder: RunDirectory, config: JobConfig, lock: RunLock) -> None:
    """Reports a merge whose process was killed right after merging."""
    timeline = Timeline(folder.path)
    end_merge(folder, config, timeline)
    _report(folder, lock, timeline, read_plan(folder), read_commits(folder), is_whole=True)


def _report(
    folder: RunDirectory,
    lock: RunLock,
    timeline: Timeline,
    plan: Plan,
    commits: Sequence[Commit],
    *,
    is_whole: bool,
) -> None:
    for text in new_code_warnings(folder, commits):
        timeline.record("warning", pid=os.getpid(), text=text)
    outcome = "ok" if is_whole else "collected in part"
    timeline.record("job_end", pid=os.getpid(), outcome=outcome, unfinished=not is_whole)
    timeline.close()
    write_lumi_accounting(folder, plan.units, commits)
    write_json(folder.host, describe_host())
    with lock.kept_by_thread():
        write_report(folder.path, plots=False, commits=commits)


def _remove_temporary(folder: RunDirectory, config: JobConfig, lock: RunLock, n_nodes: int) -> None:
    with lock.kept_by_thread():
        if not config.merge.keep_temporary:
            _remove_fragments(folder, n_nodes)
        shutil.rmtree(folder.output_cuts.parent, ignore_errors=True)


def _remove_fragments(folder: RunDirectory, n_nodes: int) -> None:
    for number in range(n_nodes):
        node = folder.node(number)
        for place in (node.units, node.output):
            if not place.is_symlink():
                shutil.rmtree(place, ignore_errors=True)
        node.packed_units.unlink(missing_ok=True)
