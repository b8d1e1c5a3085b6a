"""Content of a run directory before a job works in it, and the start of one.

`config.json` is written first and the fingerprint last: a directory without a fingerprint was not
started, and nothing of it is kept. Called under the lock (`rundir.opening`), except `check_names`.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import time
from collections.abc import Iterable
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
from forkrun.config import JobConfig
from forkrun.errors import OutputError
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.nodes import is_on_nodes

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
        strangers = sorted(_entries(folder) - folder.entries)
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
    write_json(folder.config, config.model_dump(mode="json"), mode=mode)


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
        for place in (folder.path, folder.ledger, folder.monitoring, *folder.lumi_folders):
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


def _entries(folder: RunDirectory) -> set[str]:
    names = {final_name(entry.name) for entry in folder.path.iterdir()}
    return {name for name in names if not _RECORDS.fullmatch(name)}


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
    return not folder.config.exists() and not any(map(_holds_anything, others))


def _holds_anything(entry: Path) -> bool:
    return not entry.is_dir() or entry.is_symlink() or any(entry.iterdir())
