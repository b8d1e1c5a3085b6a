"""What every batch system does for a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, Protocol

from forkrun.batch.course import NodeJobs
from forkrun.config import BatchConfig
from forkrun.rundir.directory import RunDirectory


class Life(StrEnum):
    """How a job stands in a batch system that knows it."""

    WAITING = "waiting"
    RUNNING = "running"


class Alive(NamedTuple):
    """`why`: it waits, where it may never begin; "" where that is as usual."""

    life: Life
    why: str = ""


class System(Protocol):
    """`submit` raises BatchError if the jobs do not exist afterwards."""

    def most_nodes(self) -> int:
        """Nodes of one submission, at most."""

    def check(self, batch: BatchConfig) -> None:
        """Raises ConfigError if [batch] asks for what it does not have."""

    def scripts(
        self, folder: RunDirectory, submission: NodeJobs, batch: BatchConfig
    ) -> Mapping[Path, str]:
        """The files that a submission needs, by path."""

    def submit(self, folder: RunDirectory, submission: NodeJobs) -> str:
        """Submits; returns what the batch system says."""

    def merge(self, folder: RunDirectory, submission: NodeJobs, alive: Sequence[NodeJobs]) -> str:
        """Submits the merge of a submission's scripts, which waits for the jobs of those that are
        `alive`, and before it the jobs that make parts; returns what the batch system says."""

    def lives(
        self, folder: RunDirectory, submissions: Sequence[NodeJobs]
    ) -> Mapping[int, Alive] | None:
        """The nodes that it knows; None if it does not answer."""

    def merges(self, folder: RunDirectory, submissions: Sequence[NodeJobs]) -> bool | None:
        """Whether a merge of these, which have one, waits or runs; None if it does not answer."""

    def kill(
        self, folder: RunDirectory, submissions: Sequence[NodeJobs], nodes: Sequence[int]
    ) -> None:
        """Ends the jobs of these nodes, as if they were evicted; they do not start again."""
