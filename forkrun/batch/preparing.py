"""Prepares a job for many nodes: one plan with a part for each node."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby, pairwise
from math import ceil

from msgspec import Struct
from msgspec.structs import replace

from forkrun.base.durable import output_errors, write_bytes
from forkrun.base.quantities import plural
from forkrun.batch.shipping import ship_code
from forkrun.config.choices import Distribution
from forkrun.config.model import JobConfig
from forkrun.config.read import validate
from forkrun.errors import AlreadySubmittedError, ConfigError, OutputError
from forkrun.index.model import FileIndex
from forkrun.parent.again.keeping import Keeping, is_damaged
from forkrun.parent.job import describe_job, write_found
from forkrun.parent.job_input import JobInput
from forkrun.parent.preparation import PreparedJob, index_input, prepare
from forkrun.plan.make import select_events
from forkrun.plan.part import node_borders, parts_of
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.done import differences
from forkrun.rundir.fingerprint import read_fingerprint
from forkrun.rundir.ledger import Commit, write_kept
from forkrun.rundir.lock import is_held
from forkrun.rundir.nodes import NodeRanges, is_on_nodes
from forkrun.rundir.opening import check_names, check_place, clear, opened_to_begin, write_config

_UNITS_OF_NODE = 256
"""Approximate units of a node: 12 for each of 20 children. Smaller lumis are not joined."""
_MOST_NODES = 100_000


class Split(Struct, frozen=True):
    """Number of nodes, given or derived from the events per node."""

    n_nodes: int | None = None
    events_per_node: int | None = None

    def count(self, n_events: int) -> int:
        """Number of nodes for a job of `n_events`."""
        n = self.n_nodes or ceil(n_events / (self.events_per_node or max(n_events, 1))) or 1
        if n > _MOST_NODES:
            raise ConfigError(
                f"submit: {plural(n, 'node')}, at most {_MOST_NODES:,}; give each node more events"
            )
        return n


class NodesJob(Struct, frozen=True):
    """A job checked and planned for nodes. `borders`: first unit of each node, and the end;
    `index`: of all input files; `n_files_before`: number of files before the job was extended;
    `kept`: events processed for an earlier job in the same directory, in nodes of their own."""

    job: PreparedJob
    borders: Sequence[int]
    index: Sequence[FileIndex]
    n_files_before: int = 0
    kept: Sequence[Commit] = ()

    @property
    def ranges(self) -> NodeRanges:
        """Units and events of the nodes."""
        n_events = self.job.plan.units.n_events
        sums = [int(n_events[first:end].sum()) for first, end in pairwise(self.borders)]
        return NodeRanges(tuple(self.borders), tuple(sums), max(self.job.plan.children, 1))

    @property
    def nodes_to_run(self) -> list[int]:
        """Numbers of the nodes with events to process."""
        ranges = self.ranges
        done = {ranges.node_of(commit.unit) for commit in self.kept}
        return [number for number in range(len(ranges)) if number not in done]


def prepare_nodes(config: JobConfig, split: Split) -> NodesJob:
    """Checks the job as `run` does, and plans it. Raises ConfigError or InputError with all
    problems."""
    _check_can_be_split(config)
    config, index = index_input(config)
    given = JobInput.of(config, index)
    n_events = select_events(config, given.ranges, given.mask).n_events
    n_nodes = split.count(n_events)
    job = prepare(_for_nodes(config, n_nodes, n_events), index=index, is_on_nodes=True)
    return NodesJob(job, node_borders(job.plan.units, n_nodes), index)


def _check_can_be_split(config: JobConfig) -> None:
    problems = []
    if config.forking.distribution is not Distribution.GUIDED:
        problems.append(
            f'forking.distribution: "{config.forking.distribution}" is for one node;'
            ' many nodes need "guided", the default'
        )
    if config.source.only:
        problems.append("source.only selects single events, a job for one node: forkrun run")
    if problems:
        raise ConfigError([f"submit: {problem}" for problem in problems])


def _for_nodes(config: JobConfig, n_nodes: int, n_events: int) -> JobConfig:
    """Configuration with units that keep the children of each node busy, and children that fit its
    cores."""
    forking, batch = config.forking, config.batch
    most = max(ceil(n_events / (n_nodes * _UNITS_OF_NODE)), forking.min_unit_events or 1)
    threads, children = config.threads.per_child, forking.children
    if batch.cores and children:
        children = max(batch.cores // threads, 1)
    raw = config.as_json()
    raw["forking"]["max_unit_events"] = min(most, forking.max_unit_events or most)
    raw["forking"]["children"] = children
    raw["batch"]["cores"] = batch.cores or max(children, 1) * threads
    limits = [size for size in (config.limits.memory, batch.memory) if size]
    raw["limits"]["memory"] = min(limits, default=None)
    return validate(raw, "submit")


def write_nodes(folder: RunDirectory, planned: NodesJob, split: Split) -> tuple[NodesJob, str]:
    """Starts the run directory under its lock, fingerprint last; removes remains of a killed
    submission. Keeps results of a collected job there, if their digests are equal. Returns the job
    as written, and a text about kept results. Raises OutputError if another job was started
    here."""
    with output_errors(folder.path):
        check_can_begin(folder)
        whole = planned.job
        keeping = Keeping.of(folder, whole, force=whole.config.batch.makes_outputs_on_nodes)
        is_again = is_on_nodes(folder)
        if is_again and folder.is_finished():
            _check_is_changed(folder, keeping)
        if keeping.run.kept or keeping.run.parts:
            planned = _reduced(folder, planned, keeping, split)
        clear(folder, stored=False)
        write_config(folder, whole.config)
        write_parts(folder, planned, range(len(planned.ranges)))
        planned.ranges.write(folder)
        write_found(folder, whole)
        _write_kept(folder, planned)
        shipped = ship_code(folder, whole.fingerprint)
        describe_job(folder, replace(planned.job, fingerprint=shipped), keeping)
    if is_again and whole.config.batch.makes_outputs_on_nodes:
        return planned, 'computing all results again (batch.outputs = "on nodes" keeps none)'
    return planned, keeping.text if keeping.before else ""


def _check_is_changed(folder: RunDirectory, keeping: Keeping) -> None:
    """Raises OutputError unless a collected job was changed, and requests some of the same results.
    Nodes need events to process, or stored sums of all events."""
    now = keeping.results.job.fingerprint
    if not differences(read_fingerprint(folder.fingerprint), now):
        raise AlreadySubmittedError(
            f"{folder.path}: this job has been collected, and nothing is left to compute: forkrun"
            f" collect {folder.quoted} names its files"
        )
    if not keeping.knows_job or not (keeping.computed or keeping.parts):
        raise OutputError(f"{folder.path}: holds another job; choose another folder with -o")


def _reduced(folder: RunDirectory, planned: NodesJob, keeping: Keeping, split: Split) -> NodesJob:
    """The nodes' job for results that are not kept."""
    job, kept = keeping.job, keeping.commits(folder)
    n_events = job.plan.n_events - sum(commit.n_events for commit in kept)
    units = [commit.units for commit in kept]
    borders = node_borders(job.plan.units, split.count(n_events), units)
    return replace(planned, job=job, borders=borders, kept=kept)


def _write_kept(folder: RunDirectory, planned: NodesJob) -> None:
    """Writes ledgers of the events that no node processes."""
    ranges = planned.ranges
    for number, group in groupby(planned.kept, key=lambda commit: ranges.node_of(commit.unit)):
        first = ranges.first_unit[number]
        place = folder.node(number).ledger
        place.mkdir(parents=True)
        write_kept(str(place), [_of_node(commit, first) for commit in group])


def _of_node(commit: Commit, first_unit: int) -> Commit:
    """A kept commit in the ledger of a node; its fragments are in the folder of the whole job."""
    outputs = {
        label: replace(part, file=f"../../{part.file}") for label, part in commit.outputs.items()
    }
    return replace(commit, unit=commit.unit - first_unit, outputs=outputs)


def check_can_submit(folder: RunDirectory) -> None:
    """Raises OutputError if no job can be submitted there, before the time for planning is spent;
    does not create a missing folder."""
    check_names(folder)
    if folder.path.is_dir():
        with opened_to_begin(folder):
            check_can_begin(folder)


def check_can_begin(folder: RunDirectory) -> None:
    """Raises OutputError if the folder holds anything but a job on many nodes that was collected,
    or cannot be, as results are damaged that it keeps. Called under the lock."""
    if is_on_nodes(folder):
        n_nodes = len(NodeRanges.read(folder))
        works = (is_held(folder.node(number).lock) for number in range(n_nodes))
        if any(works) or not (folder.is_finished() or is_damaged(folder)):
            raise OutputError(
                f"{folder.path}: this job has been submitted already; forkrun status"
                f" {folder.quoted} shows its progress, forkrun resubmit submits unfinished nodes"
            )
        return
    check_place(folder)
    if folder.fingerprint.exists():
        what = "this folder holds a run; choose another one with -o"
        raise OutputError(f"{folder.path}: {what}")


def write_parts(folder: RunDirectory, planned: NodesJob, numbers: range) -> None:
    """Writes the parts of these nodes, the last ones of the job."""
    job, borders = planned.job, planned.borders[numbers.start :]
    first_file = planned.n_files_before if job.config.batch.makes_outputs_on_nodes else None
    parts = parts_of(job.plan, job.input_lumis, borders, planned.index, first_file)
    for number, part in zip(numbers, parts, strict=True):
        data = json.dumps(part.to_json(), separators=(",", ":")).encode()
        write_bytes(folder.node_part(number), data, durable=False)
