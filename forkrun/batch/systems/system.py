"""Interface of all batch systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, Protocol

from forkrun.batch.course import NodeJobs
from forkrun.config import BatchConfig
from forkrun.rundir.directory import RunDirectory


class Life(StrEnum):
    """State of a job known to a batch system."""

    WAITING = "waiting"
    RUNNING = "running"


class Alive(NamedTuple):
    """`why`: reason of waiting, if the job may never begin; "" if it is usual."""

    life: Life
    why: str = ""


class System(Protocol):
    """`submit` raises BatchError if the jobs do not exist afterwards."""

    def most_nodes(self) -> int:
        """Maximum nodes of one submission."""

    def check(self, batch: BatchConfig) -> None:
        """Raises ConfigError if a setting of [batch] is not supported."""

    def scripts(
        self, folder: RunDirectory, submission: NodeJobs, batch: BatchConfig
    ) -> Mapping[Path, str]:
        """Files of a submission, by path."""

    def submit(self, folder: RunDirectory, submission: NodeJobs) -> str:
        """Submits; returns the answer of the batch system."""

    def merge(self, folder: RunDirectory, submission: NodeJobs, alive: Sequence[NodeJobs]) -> str:
        """Submits the merge of a submission, which waits for the jobs of the submissions `alive`,
        and before it the jobs that make parts; returns the answer of the batch system."""

    def lives(
        self, folder: RunDirectory, submissions: Sequence[NodeJobs]
    ) -> Mapping[int, Alive] | None:
        """Nodes known to the batch system; None if it does not answer."""

    def merges(self, folder: RunDirectory, submissions: Sequence[NodeJobs]) -> bool | None:
        """Whether a merge of these submissions waits or runs; None if the batch system does not
        answer."""

    def kill(
        self, folder: RunDirectory, submissions: Sequence[NodeJobs], nodes: Sequence[int]
    ) -> None:
        """Ends the jobs of these nodes as by eviction; they do not start again."""
