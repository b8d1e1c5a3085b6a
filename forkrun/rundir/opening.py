"""The only way into a run directory: its lock is held before anything in it is trusted or removed.

Before locking, only facts that no forkrun process changes are checked: the owner of the folder,
names of foreign files, and whether a run was ever started there (`config.json` is written first and
never removed). No folder in it is a symbolic link, and the job is described by files of the
folder's owner.

The lock of the whole job is not needed by its nodes, whose run directories have their own locks, by
parts of its merge, or by `kill`, which only adds an order; `status` and `logs` only read: they
`find` a run directory.

A run is started by `config.json`, written first, and the fingerprint, written last: a directory
without a fingerprint was not started, and nothing of it is kept.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from forkrun.base.caller import option
from forkrun.base.durable import (
    final_name,
    output_errors,
    read_json,
    refuse_remote,
    remove,
    write_json,
)
from forkrun.config.model import JobConfig
from forkrun.errors import ConfigError, OutputError
from forkrun.rundir.directory import LUMIS, RunDirectory
from forkrun.rundir.lock import RunLock
from forkrun.rundir.nodes import NodeRanges, is_on_nodes

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


# --- content, under the lock except for `check_names` ---------------------------------------------

_ABANDONED_S = 60.0
_TRIES = 3
_RECORDS = re.compile(r"records(\.\d+)?\.tar")
"""Archives packed by nodes; kept when a node works again."""


def check_names(folder: RunDirectory) -> None:
    """Raises OutputError unless this is a folder of this user with no names but those of job files,
    or can be made. Does not look into files: others may be at work there."""
    path = folder.path
    refuse_remote(path)
    if any(not letter.isprintable() for letter in str(path)):
        raise OutputError(
            f"{str(path)!r}: a run directory's name has no line breaks or control characters,"
            f" and is UTF-8: scripts and descriptions of jobs hold it; choose another one with"
            f" {option('-o')}"
        )
    with output_errors(path):
        if not path.exists():
            return
        if not path.is_dir():
            raise OutputError(f"{path}: this is a file; choose another folder with {option('-o')}")
        check_owner(path)
        names = {final_name(name) for name in os.listdir(path)} - folder.entries
        strangers = sorted(name for name in names if not _RECORDS.fullmatch(name))
    if strangers:
        raise _no_run_directory(folder, ", ".join(strangers[:3]))


def check_place(folder: RunDirectory) -> None:
    """Raises OutputError unless a job may work here: the folder holds nothing but a run that is not
    on many nodes."""
    path = folder.path
    check_names(folder)
    if is_on_nodes(folder):
        raise OutputError(
            f"{path}: this job was submitted to many nodes; forkrun status {folder.quoted}"
            " shows its progress, resubmit and collect finish it. Choose another folder with -o"
        )
    with output_errors(path):
        if not _is_ours(folder):
            raise _no_run_directory(folder, f"no {folder.config.name}")


def _no_run_directory(folder: RunDirectory, why: str) -> OutputError:
    return OutputError(
        f"{folder.path}: this folder is not a run directory, or holds something else as well"
        f" ({why}); choose another one with {option('-o')}"
    )


def holds_run(folder: RunDirectory, force: bool) -> bool:
    """Whether the folder holds a started run that is not to be replaced. Raises OutputError if a
    folder in it is a symbolic link."""
    if force or not folder.fingerprint.exists():
        return False
    check_links(folder, f", or start again with {option('--force')}")
    return True


def check_links(folder: RunDirectory, remedy: str = "") -> None:
    """Raises OutputError if a folder of a run's records is a symbolic link: nothing is read,
    written or removed through one."""
    for place in folder.record_folders:
        check_no_link(place, remedy)


def check_no_link(place: Path, remedy: str = "") -> None:
    """Raises OutputError if this folder is a symbolic link."""
    if place.is_symlink():
        raise OutputError(
            f"{place}: a symbolic link is not followed here; put the folder in its place{remedy}"
        )


def write_config(folder: RunDirectory, config: JobConfig) -> None:
    """Writes the configuration; readable by its owner alone if it has commands of [batch], which
    may hold secrets."""
    batch = config.batch
    commands = (batch.setup, batch.command, batch.stage_in, batch.stage_out, batch.directives)
    mode = 0o600 if any(commands) else 0o644
    write_json(folder.config, config.as_json(), mode=mode)


def clear(folder: RunDirectory, *, stored: bool = True) -> None:
    """Removes an earlier run, its fingerprint first; its configuration is replaced later. Not
    `stored`: keeps the stored results, for this run."""
    _remove(folder, [folder.fingerprint.name, folder.ledger.name])
    stays = {folder.lock.name, folder.config.name} | (set() if stored else {folder.stored.name})
    _remove(folder, folder.entries - stays)


def remove_results(folder: RunDirectory) -> None:
    """Removes the results that a resumed run makes again, first the record of its merge."""
    remove(folder.merge_summary)
    _remove(folder, folder.results)


def remove_unfinished_results(folder: RunDirectory) -> None:
    """Removes temporary files of killed merges; files of datasets are in folders of `output`."""
    with output_errors(folder.output):
        by_dataset = () if folder.output.is_symlink() else folder.output.glob("*/")
        for place in (folder.output, *by_dataset, folder.ledger):
            if not place.is_symlink():
                _remove_temporary(place, folder.lock.name)


def remove_left_over(folder: RunDirectory, *, temporary_outputs: bool) -> None:
    """Removes leftovers of killed processes in a run with complete outputs; with
    `temporary_outputs` the units, too. Tolerates several disk errors."""
    has_units = temporary_outputs and not folder.units.is_symlink()
    for _ in range(_TRIES):
        with contextlib.suppress(OSError, OutputError):
            _remove(folder, [folder.units.name] if has_units else [])
            break


def remove_abandoned_reports(folder: RunDirectory) -> None:
    """Removes temporary files of killed reports. Reports have no lock: files younger than
    `_ABANDONED_S` may belong to another process."""
    now_s = time.time()
    with output_errors(folder.path):
        for place in (folder.path, folder.plots):
            for path in place.glob("*.part"):
                if final_name(path.name) != folder.lock.name and _is_abandoned(path, now_s):
                    remove(path)


def _is_abandoned(path: Path, now_s: float) -> bool:
    try:
        return now_s - path.stat(follow_symlinks=False).st_mtime > _ABANDONED_S
    except FileNotFoundError:
        return False


def make_folders(folder: RunDirectory) -> None:
    """Makes the missing folders."""
    with output_errors(folder.path):
        for name in folder.folders:
            (folder.path / name).mkdir(parents=True, exist_ok=True)


def _remove(folder: RunDirectory, names: Iterable[str]) -> None:
    with output_errors(folder.path):
        for name in names:
            remove(folder.path / name)
        lumis = (folder.path / name for name in LUMIS.values())  # folders of several datasets
        for place in (folder.path, folder.ledger, folder.monitoring, *lumis):
            _remove_temporary(place, folder.lock.name)


def _remove_temporary(place: Path, lock: str) -> None:
    """Removes temporary files of dead processes; a lock's may belong to a live one."""
    for path in place.glob("*.part"):
        if final_name(path.name) != lock:
            remove(path)


def check_owner(path: Path) -> None:
    """Raises OutputError for another user's folder: its owner can put any file into it."""
    owner = path.stat().st_uid
    if owner != os.geteuid() and os.geteuid() != 0:
        raise OutputError(
            f"{path}: this folder belongs to {_name_of(owner)}; choose another one with"
            f" {option('-o')}"
        )


def check_owner_of_file(path: Path) -> None:
    """Raises OutputError for a file owned neither by the owner of its folder nor by root: commands
    in a run directory are executed."""
    with output_errors(path):
        owner, of_folder = path.lstat().st_uid, path.parent.stat().st_uid
    if owner not in (0, of_folder):
        raise OutputError(
            f"{path}: this file belongs to {_name_of(owner)}, the folder to {_name_of(of_folder)};"
            " what it describes is not run"
        )


def _name_of(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"


def _is_ours(folder: RunDirectory) -> bool:
    """Whether a run started it, perhaps killed before it wrote its configuration: then it holds
    only empty folders."""
    if folder.is_run_directory() or "units of work" in read_json(folder.fingerprint):
        return True
    others = [
        entry
        for entry in folder.path.iterdir()
        if final_name(entry.name) not in (folder.lock.name, folder.config.name)
    ]
    are_empty = (e.is_dir() and not e.is_symlink() and not any(e.iterdir()) for e in others)
    return not folder.config.exists() and all(are_empty)
