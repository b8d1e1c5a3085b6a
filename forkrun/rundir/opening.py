"""The one way into a run directory: its lock is held before anything in it is believed or removed.

Before that, only what no process of ours changes is looked at: whose folder it is, whether names of
somebody else are in it, and whether a run was ever begun there (`config.json` is written first and
never removed). No folder in it is a symbolic link, and what describes the job is a file of the
folder's owner.

Without the lock of the whole job work its nodes, whose run directories have locks of their own,
parts of its merge, and `kill`, which only adds an order; `status` and `logs` only look: they `find`
a run directory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from forkrun.base.durable import output_errors
from forkrun.errors import ConfigError
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.lock import RunLock
from forkrun.rundir.nodes import NodeRanges, is_on_nodes
from forkrun.rundir.start import (
    check_links,
    check_names,
    check_no_link,
    check_owner,
    check_owner_of_file,
    check_place,
)

_OF_NODES = "the run directory of a submitted job"


@contextmanager
def opened(
    path: Path,
    command: str,
    what: str = "a run directory",
    wait_s: float = 0.0,
    *,
    is_damaged: bool = False,
) -> Iterator[tuple[RunDirectory, RunLock]]:
    """A run directory of this user in which a run was begun, under its lock while the body runs.
    Another forkrun that works there is waited for so long. Raises ConfigError if it is not `what`
    is needed, and OutputError if it may not be used. `is_damaged`: it may be, to be reported."""
    folder = RunDirectory(path.absolute())
    if not os.path.lexists(folder.config):
        raise ConfigError(f"{command}: {path} is not {what}")
    check_owner(folder.path)
    with RunLock.held(folder.lock, wait_s) as lock:
        check_links(folder)
        if not is_damaged:
            _check_described(folder, path, command, what)
        yield folder, lock


@contextmanager
def opened_nodes(
    path: Path, command: str, wait_s: float = 0.0
) -> Iterator[tuple[RunDirectory, NodeRanges, RunLock]]:
    """As `opened`, of a job that was submitted to many nodes."""
    with opened(path, command, _OF_NODES, wait_s) as (folder, lock):
        yield folder, _ranges(folder, path, command), lock


@contextmanager
def opened_to_begin(folder: RunDirectory) -> Iterator[RunLock]:
    """Where a job begins or goes on, which is made if it is not there, under its lock while the
    body runs. Raises OutputError if it belongs to somebody else, or holds something else."""
    check_names(folder)
    with output_errors(folder.path):
        folder.path.mkdir(parents=True, exist_ok=True)
    with RunLock.held(folder.lock) as lock:
        yield lock


def check_can_begin(folder: RunDirectory) -> None:
    """Raises OutputError if no job may work there, before the time that it takes to prepare one;
    a folder that is not there is not made."""
    check_names(folder)
    if folder.path.is_dir():
        with RunLock.held(folder.lock):
            check_place(folder)


def find_nodes(
    path: Path, command: str, number: int | None = None
) -> tuple[RunDirectory, NodeRanges]:
    """The run directory of a job that was submitted, to look at, or to work in that of a node, by
    its number. Raises ConfigError if it is none, OutputError if it is of another version."""
    folder = RunDirectory(path.absolute())
    check_links(folder)
    _check_described(folder, path, command, _OF_NODES)
    return folder, _ranges(folder, path, command, number)


def _check_described(folder: RunDirectory, path: Path, command: str, what: str) -> None:
    if not folder.is_run_directory():
        raise ConfigError(f"{command}: {path} is not {what}")
    check_owner_of_file(folder.config)


def _ranges(
    folder: RunDirectory, path: Path, command: str, number: int | None = None
) -> NodeRanges:
    if not is_on_nodes(folder):
        raise ConfigError(f"{command}: {path} is not {_OF_NODES}")
    if number is not None:
        check_no_link(folder.node(number).path)
        check_links(folder.node(number))
    elif folder.nodes.is_dir():
        with output_errors(folder.nodes), os.scandir(folder.nodes) as entries:
            for entry in entries:
                if entry.is_symlink():
                    check_no_link(Path(entry.path))
    return NodeRanges.read(folder)
