"""The only way into a run directory: its lock is held before anything in it is trusted or removed.

Before locking, only facts that no forkrun process changes are checked: the owner of the folder,
names of foreign files, and whether a run was ever started there (`config.json` is written first and
never removed). No folder in it is a symbolic link, and the job is described by files of the
folder's owner.

The lock of the whole job is not needed by its nodes, whose run directories have their own locks, by
parts of its merge, or by `kill`, which only adds an order; `status` and `logs` only read: they
`find` a run directory.
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
    """Opens a run directory of this user with a started run, and holds its lock while the body
    runs. Waits `wait_s` for another forkrun there. Raises ConfigError if the folder is not `what`,
    and OutputError if it may not be used. `is_damaged`: accepts a damaged one, to be reported."""
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
    """Opens the run directory of a job submitted to many nodes, like `opened`."""
    with opened(path, command, _OF_NODES, wait_s) as (folder, lock):
        yield folder, _ranges(folder, path, command), lock


@contextmanager
def opened_to_begin(folder: RunDirectory) -> Iterator[RunLock]:
    """Holds the lock of the folder where a job starts or continues, and makes the folder if
    missing. Raises OutputError if it belongs to another user, or holds other files."""
    check_names(folder)
    with output_errors(folder.path):
        folder.path.mkdir(parents=True, exist_ok=True)
    with RunLock.held(folder.lock) as lock:
        yield lock


def check_can_begin(folder: RunDirectory) -> None:
    """Raises OutputError if no job may work there, before the time spent to prepare one; does not
    make a missing folder."""
    check_names(folder)
    if folder.path.is_dir():
        with RunLock.held(folder.lock):
            check_place(folder)


def find_nodes(
    path: Path, command: str, number: int | None = None
) -> tuple[RunDirectory, NodeRanges]:
    """Finds the run directory of a submitted job, to read it, or to work in that of node `number`.
    Raises ConfigError for another folder, OutputError for another version."""
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
