"""Work of a job's children: made in the parent, shared by all of them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from forkrun import _core
from forkrun.child.hand_out import HandOut
from forkrun.conditions.guard import ConditionGuard
from forkrun.fork.failure import FailureNote
from forkrun.index.model import Flags
from forkrun.monitoring.timeline import Timeline
from forkrun.rundir.unit_files import UnitFiles
from forkrun.schedule.job_schedule import Job


class SharedState(Struct, frozen=True):
    """Communication between parent and children, in shared memory."""

    hand_out: HandOut
    board: _core.StatusBoard
    failures: Sequence[FailureNote]
    """One for each child."""
    left_out: Flags
    """(n_units,) those of files that cannot be read."""

    @classmethod
    def of(cls, hand_out: HandOut, n_children: int, left_out: Flags) -> SharedState:
        """New, for so many children; without children the parent is the only one."""
        board = _core.StatusBoard(max(n_children, 1))
        return cls(hand_out, board, [FailureNote() for _ in range(len(board))], left_out)


class Work(Struct, frozen=True):
    """Made in the parent, shared by all children."""

    job: Job
    shared: SharedState
    files: UnitFiles
    guard: ConditionGuard
    timeline: Timeline
    settings: _core.ProcessorSettings
