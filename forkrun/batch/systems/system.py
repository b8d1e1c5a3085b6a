"""Interface of all batch systems, and calls of their commands."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, Protocol

from forkrun.batch.course import NodeJobs
from forkrun.config.batch import BatchConfig
from forkrun.errors import BatchError
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
        return

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


ASK_S, SUBMIT_S = 20.0, 120.0
"""Time-outs of queries and of changes."""


def ask(system: str, command: Sequence[str]) -> list[str] | None:
    """Lines of the answer to a query; None if the batch system does not answer."""
    try:
        return call(system, command, ASK_S).splitlines()
    except BatchError:
        return None


def call(system: str, command: Sequence[str], limit_s: float) -> str:
    """Output of a command. Raises BatchError, which begins with the batch system's name."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s)
    except FileNotFoundError:
        what = f"{command[0]} is not installed here: submit from a machine that has its commands"
        raise BatchError(f"{system}: {what}, or use --on local") from None
    except subprocess.TimeoutExpired:
        what = f"{command[0]} did not answer within {limit_s:.0f} s"
        raise BatchError(f"{system}: {what}") from None
    except OSError as error:
        what = f"{command[0]} cannot be started: {error.strerror}"
        raise BatchError(f"{system}: {what}") from None
    if done.returncode:
        said = done.stderr.strip() or f"exit code {done.returncode}"
        raise BatchError(f"{system}: {command[0]}: {said}")
    return done.stdout
