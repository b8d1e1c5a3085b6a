"""A job that can be processed."""

from __future__ import annotations

from msgspec import Struct

from forkrun.config import JobConfig
from forkrun.plan import Plan
from forkrun.schedule.job_schedule import JobSchedule


class Job(Struct, frozen=True):
    """What is asked for, which events in which units, and the modules that process them."""

    config: JobConfig
    plan: Plan
    schedule: JobSchedule
