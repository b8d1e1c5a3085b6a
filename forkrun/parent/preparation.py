"""All steps before the fork: index, plan, conditions, modules, schedule."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from forkrun.base.input_files.ends import share_ends
from forkrun.base.lumis import LumiCounts
from forkrun.base.notes import take_notes
from forkrun.conditions import Conditions, prefetch_conditions
from forkrun.config.anchor import is_url
from forkrun.config.choices import EventOrder
from forkrun.config.model import JobConfig
from forkrun.config.remote import use_remote_cache
from forkrun.errors import ConfigError, InputError
from forkrun.index.files import input_files, input_files_or_gaps
from forkrun.index.friends import with_friends
from forkrun.index.known_friends import with_known_friends
from forkrun.index.known_ids import with_known_ids
from forkrun.index.model import FileIndex, Flags, LumiRanges
from forkrun.index.read import index_files
from forkrun.index.whole_input import check_carried, input_digests, with_datasets
from forkrun.modules.program.dependence import JobCode
from forkrun.parent.bad_files import named_file
from forkrun.parent.job_input import plan_input
from forkrun.plan.cuts import Cuts, borders
from forkrun.plan.model import Plan
from forkrun.plan.part import Part
from forkrun.plan.select import EventCounts, count_lumis
from forkrun.rundir.fingerprint import Fingerprint, fingerprint
from forkrun.schedule.build import build_schedule
from forkrun.schedule.found_out import FoundOut
from forkrun.schedule.input_branches import InputBranches
from forkrun.schedule.job_modules import ScheduleInput
from forkrun.schedule.job_schedule import Job
from forkrun.schedule.object_branches import check_object_branches
from forkrun.schedule.plugins import plugin_path

_WHOLE_LUMIS = "modules with callbacks of lumis or runs, or one_lumi"
"""Modules that need whole lumis, for messages."""


class PreparedJob(Job, frozen=True):
    """A checked job, ready to start. Times in seconds since the epoch."""

    fingerprint: Fingerprint
    input_lumis: LumiCounts
    clusters: Sequence[Sequence[int]]
    """First entry of each cluster, for each input file."""
    clusters_with_events: Mapping[str, Sequence[Sequence[int]]]
    """The same for trees that accompany the events, by path."""
    start_s: float
    index_done_s: float
    modules_built_s: float
    unreadable: Mapping[str, str] = {}
    """Files left out, with the reason."""
    part: Part | None = None
    """Part of the plan, on one of many nodes."""
    planned: Any = None
    """The `PlannedJob` that it was made from."""

    def prepared_with(self, config: JobConfig, plan: Plan) -> PreparedJob:
        """The job with another configuration of modules, paths and outputs, and a plan of the same
        events; reuses the findings about modules."""
        code = self.schedule.code
        planned = replace(self.planned, config=config, plan=plan, may_reorder=False, code=code)
        self.schedule.conditions.reorder(plan.units.lumi_key, plan.units.n_events)
        made: PreparedJob = planned.prepared(self.schedule.conditions, self.schedule.found)
        return made

    @property
    def cuts(self) -> Cuts | None:
        """Block ends; None without Python modules."""
        modules = self.schedule.modules
        if not modules:
            return None
        labels = [label for label, module in modules.items() if module.wants_one_lumi]
        iovs = self.schedule.conditions.table.of_unit
        return Cuts.of(self.config, self.plan, iovs, labels, self.schedule.one_lumi)

    @property
    def joins_previous(self) -> Flags:
        """(n_units,) whether a unit may be processed together with the previous one: both in one
        dataset, in one IOV and, if required for blocks, in one lumi."""
        iovs, one_lumi = self.schedule.conditions.table.of_unit, self.schedule.one_lumi
        joined = np.ones(len(self.plan.units), dtype=np.bool_)
        joined[:1] = False
        for differs in borders(self.plan, iovs, one_lumi).values():
            joined &= ~differs
        return joined

    @property
    def event_bytes(self) -> float:
        """Mean bytes per event in the input files."""
        n_bytes = sum(n for _, n, _ in self.plan.identities)
        return n_bytes / max(sum(of_file[-1] for of_file in self.clusters if of_file), 1)


def prepare(
    config: JobConfig,
    quiet: bool = True,
    part: Part | None = None,
    index: Sequence[FileIndex] | None = None,
    known: FoundOut | None = None,
    *,
    is_on_nodes: bool = False,
) -> PreparedJob:
    """Prepares a job, or a part of its plan. `index`: of its input, `known`: findings about its
    modules, if available; `is_on_nodes`: the job is for many nodes. Raises ConfigError or
    InputError with all problems. Starts no thread."""
    take_notes()  # from an earlier, failed job of this process
    start_s = time.time()
    planned = PlannedJob.of(config, index, start_s, part, is_on_nodes=is_on_nodes)
    conditions = planned.conditions(quiet)
    while True:
        try:
            return planned.prepared(conditions, known)
        except InputError as error:  # raised when reading the first events
            planned = planned.without_file_of(error)


class PlannedJob(Struct, frozen=True):
    """A job with known input. `index`: of all files; `ranges`: of the files that it reads itself.
    `start_s`, `done_s`: start and end of planning."""

    config: JobConfig
    index: Sequence[FileIndex]
    ranges: LumiRanges
    plan: Plan
    input_lumis: LumiCounts
    start_s: float
    done_s: float
    part: Part | None = None
    """Part of the plan, on one of many nodes."""
    is_on_nodes: bool = False
    counts: EventCounts | None = None
    """Events of each file; None if all count."""
    may_reorder: bool = False
    """Whether the plan is of the whole input and not started: modules may need another order."""
    code: JobCode | None = None
    """Code of all modules, if they were loaded before."""

    @classmethod
    def of(
        cls,
        config: JobConfig,
        index: Sequence[FileIndex] | None,
        start_s: float,
        part: Part | None = None,
        *,
        is_on_nodes: bool = False,
    ) -> PlannedJob:
        """Indexes the input unless `index` is given. Raises ConfigError or InputError."""
        if part is not None:
            return cls._of_part(config, part, start_s)
        if index is None:
            config, index = index_input(config)
        given, plan = plan_input(config, index)
        check_object_branches(config, given.index)
        of_file = [file.dataset for file in given.index] if config.datasets else []
        lumis = count_lumis(given.ranges, given.mask, of_file)
        return cls(
            config,
            given.index,
            given.held,
            plan,
            lumis,
            start_s,
            time.time(),
            is_on_nodes=is_on_nodes,
            counts=given.counts,
            may_reorder=True,
        )

    @classmethod
    def _of_part(cls, config: JobConfig, part: Part, start_s: float) -> PlannedJob:
        index = _indexed(part.plan.files, config, part.plan)
        index = with_known_friends(index, part.friends, config.source)
        own = LumiRanges.of([file for file in index if file.path])
        plan = replace(part.plan, children=config.forking.children)
        done_s = time.time()
        return cls(config, index, own, plan, part.input_lumis, start_s, done_s, part, True)

    def conditions(self, quiet: bool = True) -> Conditions:
        """Loads the conditions. Raises ConfigError."""
        *_, n_iovs = self.config.threads.in_flight
        wanted = (self.config.conditions, self.config.prefetch)
        return prefetch_conditions(*wanted, self.plan.units, n_iovs, quiet)

    def without_file_of(self, error: InputError) -> PlannedJob:
        """The job without the file named by an error. Raises the error if the job does not permit
        that, or no other file remains."""
        good = [file for file in self.index if file.path and not file.unreadable]
        bad = named_file(error, [file.path for file in good])
        is_last = len({file.path for file in good}) == 1
        if bad is None or is_last or not self.config.recovery.leaves_files_out:
            raise error
        index = [replace(f, unreadable=str(error)) if f.path == bad else f for f in self.index]
        return replace(self, index=index)

    def _as_read(self) -> list[FileIndex]:
        return self.part.index_as_read(self.index) if self.part else list(self.index)

    def prepared(self, conditions: Conditions, known: FoundOut | None = None) -> PreparedJob:
        """Loads the modules and compiles the schedule. `known`: findings about modules. Raises
        ConfigError or InputError."""
        config, index = self.config, self.index
        all_branches = known.branches if known else None
        source = config.source
        branches = InputBranches.of(self._as_read(), source.branches, all_branches, source.tree)
        given = (conditions, self.plan.units, known, self.counts, self.code)
        schedule = build_schedule(ScheduleInput(config, branches, *given))
        plan = self._with_whole_lumis() if schedule.core.wants_whole_lumis else self.plan
        if plan is not self.plan:
            conditions.reorder(plan.units.lumi_key, plan.units.n_events)
        of_order = plan.notes_on_order(bool(config.outputs))
        plan = replace(plan, notes=(*plan.notes, *config.notes, *of_order))
        config = config.replaced({"outputs": tuple(schedule.each_output)})
        return PreparedJob(
            config,
            plan,
            schedule,
            fingerprint(
                config,
                input_digests([file for file in index if file.path], self.ranges),
                plan.borders_digest(),
                list(map(plugin_path, config.job.plugins)),
                conditions.files(),
                may_grow=self.is_on_nodes,
            ),
            self.input_lumis,
            [file.clusters for file in index],
            _clusters_with_events(index),
            self.start_s,
            self.done_s,
            time.time(),
            {file.path: file.unreadable for file in index if file.unreadable},
            self.part,
            self,
        )

    def _with_whole_lumis(self) -> Plan:
        """Plan for modules that need each lumi in one piece."""
        if not self.may_reorder or self.plan.order != EventOrder.INPUT:
            return self.plan
        ordered = in_order(self.config, EventOrder.LUMI)
        plan = PlannedJob.of(ordered, self.index, self.start_s).plan
        if self.config.source.order is EventOrder.INPUT and plan.units != self.plan.units:
            raise ConfigError(f'source.order: {_WHOLE_LUMIS} need "lumi" or "sorted", not "input"')
        return replace(plan, order_reason=_WHOLE_LUMIS)


def in_order(config: JobConfig, order: EventOrder) -> JobConfig:
    """Configuration with this order of events."""
    source = config.source.replaced({"order": order})
    return config.replaced({"source": source})


def index_input(config: JobConfig) -> tuple[JobConfig, list[FileIndex]]:
    """Indexes all input files of a job, and checks that they can be joined; adds the id columns of
    the files to the configuration if it names none."""
    find = input_files_or_gaps if config.recovery.leaves_files_out else input_files
    files = find(config.source)
    try:
        index = _indexed(files, config)
    except InputError:
        known = with_known_ids(config, list(filter(None, files)))
        if known is None:
            raise
        config, index = known, _indexed(files, known)
    index = with_friends(index, config.source)
    check_carried(index, config)
    return config, index


def _indexed(files: Sequence[str], config: JobConfig, plan: Plan | None = None) -> list[FileIndex]:
    """Index of the files. `plan`: of these files, with their trees and datasets, if known."""
    trees = plan.trees if plan else ()
    all_files = [*files, *(f for each in config.source.friends for f in each.files)]
    source = config.source
    use_remote_cache(all_files, source.cache, source.cache_limit, source.cache_decoded)
    if any(map(is_url, all_files)):
        share_ends()
    leaves_out = config.recovery.leaves_files_out
    index = index_files(files, config.source.ids, trees=trees, leaves_out=leaves_out)
    if plan is None or not plan.datasets:
        return with_datasets(index, config.datasets, config.source.prefixes)
    return [replace(file, dataset=each) for file, each in zip(index, plan.datasets, strict=True)]


def _clusters_with_events(index: Sequence[FileIndex]) -> dict[str, list[tuple[int, ...]]]:
    """Clusters of each file, by path of each tree that accompanies the events."""
    return {
        parts[0].in_outputs: [part.own.clusters for part in parts if part.own]
        for parts in zip(*(file.friends for file in index), strict=True)
        if parts[0].own is not None
    }
