"""All that comes before the fork: index, plan, conditions, modules, schedule."""

from __future__ import annotations

import time
from dataclasses import dataclass

from forkrun.conditions import load_conditions
from forkrun.config import JobConfig
from forkrun.index import FileIndex, IdBranches, index_files, input_files
from forkrun.plan import Plan, make_plan, read_lumi_mask
from forkrun.schedule import JobSchedule, build_schedule


@dataclass(frozen=True)
class PreparedJob:
    """A job that has been checked and can start. Times in seconds since the epoch."""

    config: JobConfig
    plan: Plan
    schedule: JobSchedule
    start_s: float
    index_done_s: float
    modules_built_s: float


def prepare(config: JobConfig) -> PreparedJob:
    """Raises ConfigError or InputError with everything that is wrong. Starts no thread."""
    start_s = time.time()
    index = index_input(config)
    plan = plan_of(config, index)
    index_done_s = time.time()
    schedule = build_schedule(config, index, load_conditions(config.conditions))
    return PreparedJob(config, plan, schedule, start_s, index_done_s, time.time())


def index_input(config: JobConfig) -> list[FileIndex]:
    """Of all input files of a job."""
    return index_files(input_files(config.source), IdBranches.of(config.source))


def plan_of(config: JobConfig, index: list[FileIndex]) -> Plan:
    """With the job's lumi mask."""
    mask = config.source.lumi_mask
    return make_plan(config, index, read_lumi_mask(mask) if mask else None)
