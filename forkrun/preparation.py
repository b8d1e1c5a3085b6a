"""All that comes before the fork: index, plan, conditions, modules, schedule."""

from __future__ import annotations

import time
from dataclasses import dataclass

from forkrun.books import Lumi, count_lumis
from forkrun.conditions import prefetch_conditions
from forkrun.config import JobConfig
from forkrun.fingerprint import Fingerprint, fingerprint
from forkrun.index import (
    EventId,
    FileIndex,
    IdBranches,
    index_files,
    input_files,
    only_events,
)
from forkrun.plan import LumiMask, Plan, make_plan, read_lumi_mask
from forkrun.schedule import JobSchedule, build_schedule, in_work, plugin_paths


@dataclass(frozen=True)
class PreparedJob:
    """A job that has been checked and can start. Times in seconds since the epoch."""

    config: JobConfig
    plan: Plan
    schedule: JobSchedule
    fingerprint: Fingerprint
    input_lumis: dict[Lumi, int]
    start_s: float
    index_done_s: float
    modules_built_s: float


def prepare(config: JobConfig, quiet: bool = True) -> PreparedJob:
    """Raises ConfigError or InputError with everything that is wrong. Starts no thread."""
    start_s = time.time()
    index = index_input(config)
    mask = mask_of(config)
    in_input = count_lumis(index, mask)
    plan = plan_of(config, index, mask)
    index_done_s = time.time()
    *_, n_iovs = in_work(config.threads)
    conditions = prefetch_conditions(config.conditions, config.prefetch, plan, n_iovs, quiet)
    schedule = build_schedule(config, index, conditions)
    return PreparedJob(
        config,
        plan,
        schedule,
        fingerprint(config, index, plan, plugin_paths(config), conditions.files()),
        in_input,
        start_s,
        index_done_s,
        time.time(),
    )


def index_input(config: JobConfig) -> list[FileIndex]:
    """Of all input files of a job."""
    return index_files(input_files(config.source), IdBranches.of(config.source))


def plan_of(config: JobConfig, index: list[FileIndex], mask: LumiMask | None) -> Plan:
    """Of what the mask accepts, or of the events that the job is restricted to."""
    only = [EventId.parse(text) for text in config.source.only]
    if only:
        source = config.source.model_copy(update={"skip_events": 0, "max_events": None})
        config = config.model_copy(update={"source": source})
        return make_plan(config, only_events(index, IdBranches.of(source), only))
    return make_plan(config, index, mask)


def mask_of(config: JobConfig) -> LumiMask | None:
    """The job's lumi mask."""
    return read_lumi_mask(config.source.lumi_mask) if config.source.lumi_mask else None
