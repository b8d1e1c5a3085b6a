"""Runs one node's part of a job: a parent like any other, with a merge if nodes make their parts of
the outputs. Each node computes the results that are missing and records their digests; results that
nodes have computed in different ways are not stored."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from forkrun.base.durable import read_json
from forkrun.batch.course import NodeCourse, note_start, read_course
from forkrun.batch.scratch import PUBLISH_S, on_scratch
from forkrun.batch.shipping import take_code
from forkrun.batch.staging import stage_in
from forkrun.config.model import JobConfig
from forkrun.config.read import read_config
from forkrun.errors import (
    ConfigError,
    ForkrunError,
    JobError,
    OutOfTimeError,
    OutputError,
    StoppedError,
)
from forkrun.merge.node_outputs import has_outputs_of, write_node_sums
from forkrun.parent.again.digests import JobResults
from forkrun.parent.again.reduced import reduced_job
from forkrun.parent.job import read_found, run_job
from forkrun.parent.preparation import PreparedJob
from forkrun.plan.part import Part
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.done import check_submitted
from forkrun.rundir.fingerprint import Fingerprint, value_digest
from forkrun.rundir.ledger import read_ledgers
from forkrun.rundir.lock import is_held
from forkrun.rundir.nodes import makes_outputs_on_nodes
from forkrun.rundir.opening import check_owner, find_nodes, opened_to_begin
from forkrun.rundir.packing import pack_records, pack_units, read_batch, unpack_units
from forkrun.rundir.progress import read_progress
from forkrun.rundir.results import ResultDigest, RunResults

_KEY = "results"
"""Part of a node's fingerprint: digests of its results."""
_OF_PART = {"input", "conditions"}
"""Inputs of results that differ between nodes, and that each node compares with the whole job."""


def job_of_node(
    whole: RunDirectory, node: RunDirectory, submitted: Fingerprint, job: PreparedJob
) -> PreparedJob:
    """A node's job, for the results that the `whole` job does not keep. Its fingerprint has their
    digests; those that differ from a present one, when the node resumes, become "". Raises
    OutputError unless the node has the job that was `submitted`."""
    check_submitted(whole, submitted, job.fingerprint)
    run = RunResults.read(whole)
    if not any(result.digest for result in run.results):
        return job
    results, before = JobResults(job), read_json(node.fingerprint).get(_KEY, {})
    digests = {result.name: _common_digest(result) for result in results.digests()}
    own = {name: d if before.get(name, d) == d else "" for name, d in digests.items()}
    if run.kept:
        wanted = [result for result in run.results if not run.keeps(*result.key)]
        job = reduced_job(results, wanted, job.plan)
    return replace(job, fingerprint={**job.fingerprint, _KEY: own})


def note_differences(whole: RunDirectory, nodes: Iterable[int]) -> None:
    """Marks results that one of these nodes has computed with other code or packages than recorded
    for the job: they are not stored for later jobs."""
    run = RunResults.read(whole)
    wanted = {r.name: _common_digest(r) for r in run.results if r.digest}
    if not wanted:
        return
    found = [read_json(whole.node(number).fingerprint).get(_KEY, {}) for number in nodes]
    differ = {n for n, digest in wanted.items() if any(each.get(n) != digest for each in found)}
    why = ("nodes have computed it with other code, packages or builds",)
    results = [
        replace(r, reasons=why) if r.name in differ and not run.keeps(*r.key) else r
        for r in run.results
    ]
    if differ:
        replace(run, results=tuple(results)).write(whole)


def _common_digest(result: ResultDigest) -> str:
    """Digest of what a result depends on in every node."""
    parts = {name: digest for name, digest in result.parts.items() if name not in _OF_PART}
    return value_digest([parts, result.reasons])


_WAIT_FOR_LOCK_S = 150.0
"""Slightly longer than the lock time-out of a parent on another host."""
_NO_PROGRESS = 3
"""How often a node may run out of time without a commit."""


def run_node(
    path: Path,
    number: int,
    *,
    time_left_s: float | None = None,
    memory_bytes: int | None = None,
    scratch: str | None = None,
    quiet: bool = False,
) -> None:
    """Processes the remaining units of a node. Raises OutOfTimeError if the time is over, or when
    the batch system ends the job by SIGTERM: the node must be started again. `scratch`: local
    folder to work in."""
    end_s = None if time_left_s is None else time.monotonic() + time_left_s
    folder, ranges = find_nodes(path, "node", number)
    check_owner(folder.path)
    if not 0 <= number < len(ranges):
        raise ConfigError(f"node {number}: the job has nodes 0 to {len(ranges) - 1}")
    part = _read_part(folder, number)
    node = folder.node(number)
    commits = read_ledgers(node.ledger)
    if commits and all(commit.computed_s for commit in commits):
        return  # events of kept results
    _note_start(folder, number, node)
    _wait_for_lock(node)
    _unpack(node)
    if scratch is not None and end_s is not None:
        end_s -= PUBLISH_S
    try:
        with _place(folder, node, part, scratch) as (own, part):
            left_s = None if end_s is None else max(end_s - time.monotonic(), 1.0)
            submitted = take_code(folder)
            config = _config(folder, left_s, memory_bytes)
            if not _is_done(own, ranges.n_units(number)):
                run_job(
                    config, own.path, quiet=quiet, plots=False, part=part,
                    known=read_found(folder), reduced=partial(job_of_node, folder, own, submitted),
                )  # fmt: skip
            with suppress(ForkrunError):  # the merge reports the reason
                write_node_sums(own, read_ledgers(own.ledger))
        with suppress(ForkrunError, OSError):  # Packing only reduces the number of files.
            _pack(folder, node, ranges.n_units(number))
    except StoppedError as error:
        if error.signal_number != signal.SIGTERM:
            raise
        raise OutOfTimeError(f"evicted by the batch system: {error}") from error


def _is_done(node: RunDirectory, n_units: int) -> bool:
    """Whether a node has made its outputs from all its units: the description of its run is
    packed."""
    commits = read_ledgers(node.ledger)
    return has_outputs_of(node, commits) and sum(c.n_units for c in commits) >= n_units


def _unpack(node: RunDirectory) -> None:
    """Unpacks the units of a finished node that must work again."""
    if node.packed_units.exists():
        with opened_to_begin(node):
            unpack_units(node)


def _pack(folder: RunDirectory, node: RunDirectory, n_units: int) -> None:
    """Packs the files of a finished node; those of its units only while nothing collects them, as a
    whole or in parts: a collector announces itself first, then waits for nodes that hold their
    locks."""
    with opened_to_begin(node):
        if read_progress(node).n_units >= n_units:
            pack_records(node)
            if not is_held(folder.lock) and not folder.output_cuts.parent.exists():
                pack_units(node)


@contextmanager
def _place(
    folder: RunDirectory, node: RunDirectory, part: Part, scratch: str | None
) -> Iterator[tuple[RunDirectory, Part]]:
    """Run directory in which a node works, and its part of the plan, with input copied there."""
    if scratch is None:
        yield node, part
        return
    batch = read_config(folder.config).batch
    with on_scratch(scratch, node, batch.publish_every) as own:
        yield own, _staged(batch.stage_in, part, own) if batch.stage_in else part


def _staged(command: str, part: Part, own: RunDirectory) -> Part:
    """The part of the plan with copies of its input. Raises OutOfTimeError if the node is evicted
    meanwhile."""

    def end(*_: object) -> None:
        raise OutOfTimeError("evicted by the batch system while input was copied to scratch")

    before = signal.signal(signal.SIGTERM, end)
    try:
        return replace(part, copies=stage_in(command, part, own.path.parent / "input"))
    finally:
        signal.signal(signal.SIGTERM, before)


def _config(folder: RunDirectory, time_left_s: float | None, memory_bytes: int | None) -> JobConfig:
    """Configuration of a node. One that makes its part of the outputs keeps the files of its units:
    it may have to make the outputs again."""
    settings: list[tuple[str, object]] = [
        ("merge.enabled", makes_outputs_on_nodes(folder)), ("merge.keep_temporary", True),
        ("merge.when_stopped", False),
    ]  # fmt: skip
    if time_left_s is not None:
        settings.append(("limits.walltime", time_left_s))
    if memory_bytes is not None:
        settings.append(("limits.memory", memory_bytes))
    return read_config(folder.config, settings)


def _read_part(folder: RunDirectory, number: int) -> Part:
    place = folder.node_part(number)
    try:
        return Part.from_json(json.loads(read_batch(place)))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        raise OutputError(f"{place}: cannot be read: {error}; submit to another folder") from None


def _note_start(folder: RunDirectory, number: int, node: RunDirectory) -> None:
    course, n_units = read_course(folder, number), read_progress(node).n_units
    if _is_stuck(course, n_units):
        raise JobError(
            f"node {number} was out of time {_NO_PROGRESS} times without a commit: give it more"
            f" time: forkrun resubmit {folder.quoted} --set batch.time=…, and shorter units "
            "(forking.max_unit_events) if a unit takes longer"
        )
    job = os.environ.get("SLURM_JOB_ID", "")
    note_start(folder, number, n_units, socket.gethostname(), job)


def _is_stuck(course: NodeCourse, n_units: int) -> bool:
    """Whether the last parents all ran out of time without a commit."""
    codes, before = course.codes[-_NO_PROGRESS:], course.n_units[-_NO_PROGRESS:]
    all_late = len(codes) == _NO_PROGRESS and set(codes) == {OutOfTimeError.exit_code}
    return all_late and {*before, n_units} == {n_units}


def _wait_for_lock(node: RunDirectory) -> None:
    """Waits for an earlier parent of this node, possibly on a lost machine."""
    until_s = time.monotonic() + _WAIT_FOR_LOCK_S
    while is_held(node.lock) and time.monotonic() < until_s:
        time.sleep(1.0)
