"""A job, ready for processing."""

from __future__ import annotations

from msgspec import Struct

from forkrun.config import JobConfig
from forkrun.plan import Plan
from forkrun.schedule.job_schedule import JobSchedule


class Job(Struct, frozen=True):
    """The configuration, the plan of units, and the schedule of modules."""

    config: JobConfig
    plan: Plan
    schedule: JobSchedule
