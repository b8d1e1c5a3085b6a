"""What a job's children work on: made in the parent, shared by all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from forkrun import _core
from forkrun.child.fault_injection import Chaos
from forkrun.child.hand_out import HandOut
from forkrun.conditions.guard import ConditionGuard
from forkrun.config import JobConfig
from forkrun.fork.failure import FailureNote
from forkrun.monitoring import Timeline
from forkrun.plan import Plan
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.unit_files import UnitFiles
from forkrun.schedule.job_schedule import JobSchedule


@dataclass(frozen=True)
class Work:
    """Made in the parent, shared by all children."""

    folder: RunDirectory
    config: JobConfig
    plan: Plan
    schedule: JobSchedule
    hand_out: HandOut
    board: _core.StatusBoard
    failures: Sequence[FailureNote]
    """One for each child."""
    chaos: Chaos
    guard: ConditionGuard
    files: UnitFiles
    timeline: Timeline
