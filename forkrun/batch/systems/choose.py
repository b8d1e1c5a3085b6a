"""The batch systems by name."""

from __future__ import annotations

from forkrun.batch.systems.htcondor import HTCondor
from forkrun.batch.systems.local import Local
from forkrun.batch.systems.slurm import Slurm
from forkrun.batch.systems.system import System
from forkrun.config.choices import BatchSystem

_SYSTEMS: dict[BatchSystem, type[System]] = {
    BatchSystem.HTCONDOR: HTCondor,
    BatchSystem.LOCAL: Local,
    BatchSystem.SLURM: Slurm,
}


def system_of(name: BatchSystem | str) -> System:
    """The batch system of this name."""
    return _SYSTEMS[BatchSystem(name)]()
