"""All that comes before the fork: index, plan, conditions, modules, schedule."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from forkrun.conditions import prefetch_conditions
from forkrun.config import JobConfig
from forkrun.index import (
    EventId,
    FileIndex,
    IdBranches,
    LumiRanges,
    index_files,
    input_files,
    only_events,
)
from forkrun.index.digests import input_digests
from forkrun.plan import LumiMask, Plan, make_plan, plan_selected, read_lumi_mask, select_events
from forkrun.plan.lumi_counts import LumiCounts, count_lumis
from forkrun.rundir.fingerprint import Fingerprint, fingerprint
from forkrun.schedule.build import JobSchedule, build_schedule, in_flight, plugin_paths


@dataclass(frozen=True)
class PreparedJob:
    """A job that has been checked and can start. Times in seconds since the epoch."""

    config: JobConfig
    plan: Plan
    schedule: JobSchedule
    fingerprint: Fingerprint
    input_lumis: LumiCounts
    clusters: Sequence[Sequence[int]]
    """For each file of the input the first entry of each cluster."""
    start_s: float
    index_done_s: float
    modules_built_s: float

    @property
    def event_bytes(self) -> float:
        """Mean bytes of an event in the input's files."""
        n_bytes = sum(n for _, n, _ in self.plan.identities)
        return n_bytes / max(sum(of_file[-1] for of_file in self.clusters if of_file), 1)


def prepare(config: JobConfig, quiet: bool = True) -> PreparedJob:
    """Prepares a job. Raises ConfigError or InputError with all problems. Starts no thread."""
    start_s = time.time()
    index = index_input(config)
    given = JobInput.of(config, index)
    input_lumis = count_lumis(given.ranges, given.mask)
    plan = plan_of(config, given)
    index_done_s = time.time()
    *_, n_iovs = in_flight(config.threads)
    conditions = prefetch_conditions(config.conditions, config.prefetch, plan.units, n_iovs, quiet)
    schedule = build_schedule(config, index, conditions, plan.units)
    return PreparedJob(
        config,
        plan,
        schedule,
        fingerprint(
            config,
            input_digests(index, given.ranges),
            plan.borders_digest(),
            plugin_paths(config),
            conditions.files(),
        ),
        input_lumis,
        [file.clusters for file in index],
        start_s,
        index_done_s,
        time.time(),
    )


def index_input(config: JobConfig) -> list[FileIndex]:
    """Indexes all input files of a job."""
    return index_files(input_files(config.source), IdBranches.of(config.source))


@dataclass(frozen=True)
class JobInput:
    """What the input files of a job hold, and which lumis of it count (None: all)."""

    index: Sequence[FileIndex]
    ranges: LumiRanges
    mask: LumiMask | None

    @classmethod
    def of(cls, config: JobConfig, index: Sequence[FileIndex]) -> JobInput:
        """The job's input, with its lumi mask."""
        return cls(index, LumiRanges.of(index), mask_of(config))


def plan_of(config: JobConfig, given: JobInput) -> Plan:
    """Plan of what the mask accepts, or of the events that the job is restricted to."""
    only = [EventId.parse(text) for text in config.source.only]
    if only:
        source = config.source.model_copy(update={"skip_events": 0, "max_events": None})
        config = config.model_copy(update={"source": source})
        return make_plan(config, only_events(given.index, IdBranches.of(source), only))
    return plan_selected(config, select_events(config, given.ranges, given.mask), given.index)


def mask_of(config: JobConfig) -> LumiMask | None:
    """The job's lumi mask."""
    return read_lumi_mask(config.source.lumi_mask) if config.source.lumi_mask else None
