"""Checks of the temporary outputs that a merge reads: commits of changed files are revoked."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from forkrun import _core
from forkrun.base.quantities import plural
from forkrun.base.refusals import refusal
from forkrun.errors import DamagedFilesError, ForkrunError, VerificationError
from forkrun.histograms.accumulators.finished import read_part
from forkrun.histograms.root_file import sum_histograms
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit, CommittedFile, SumsPart
from forkrun.rundir.nodes import revoke_commits

_SHOWN = 5
_LIMITS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


def check_part(folder: Path, part: CommittedFile) -> None:
    """Checks size and checksum of a file, just before it is read, so that the disk is read once.
    Raises VerificationError."""
    problem = _change(folder, part)
    if problem:
        raise VerificationError(problem)


def is_as_written(folder: Path, part: CommittedFile) -> bool:
    """Whether a file has its size and checksum."""
    return _change(folder, part) is None


def checked_files(folder: Path, parts: Iterable[CommittedFile]) -> Iterator[Path]:
    """Files of the parts, each checked just before it is yielded."""
    for part in parts:
        check_part(folder, part)
        yield folder / part.file


def revoke_damaged(folder: RunDirectory, commits: Sequence[Commit], error: Exception) -> None:
    """Checks each file after a merge that failed with `error`. Raises DamagedFilesError if any is
    changed or unreadable, and revokes its commit."""
    found = [(c, why) for c in commits if (why := _damage(folder, c)) is not None]
    if not found:
        return
    revoke_commits(folder, found)
    shown = [f"unit {commit.unit}: {why}" for commit, why in found[:_SHOWN]]
    if len(found) > _SHOWN:
        shown.append(f"and {plural(len(found) - _SHOWN, 'more unit')}")
    raise DamagedFilesError("\n".join(shown)) from error


def _damage(folder: RunDirectory, commit: Commit) -> str | None:
    for part in commit.parts:
        problem = _change(folder.path, part) or _unreadable(folder, part)
        if problem:
            return problem
    return None


def _change(folder: Path, part: CommittedFile) -> str | None:
    file = f"{folder}/{part.file}"  # a Path for each of many files would cost time
    try:
        n_bytes = os.stat(file).st_size
        if n_bytes != part.n_bytes:
            return f"{part.file} has {plural(n_bytes, 'byte')}, not {part.n_bytes}"
        if _core.file_checksum(file) != part.checksum:
            return f"{part.file} is not as it was written (checksum)"
    except FileNotFoundError:
        return f"{part.file} is missing"
    except (OSError, ForkrunError) as error:
        _raise_limit(error)
        return f"{part.file} cannot be read: {error}"
    return None


def _raise_limit(error: Exception) -> None:
    """Raises JobError if this process has reached a limit of open files or memory: no file is
    damaged."""
    for number in _LIMITS:
        if os.strerror(number) in str(error) and (refused := refusal(OSError(number, ""))):
            raise refused from error


def _unreadable(folder: RunDirectory, part: CommittedFile) -> str | None:
    """Reason why a file of a unit cannot be read; None if it can. A disk that failed during writing
    may have left a damaged file with the right checksum."""
    try:
        if isinstance(part, SumsPart):
            file = folder.path / part.file
            read_part(file) if file.suffix == ".json" else sum_histograms([file])
            return None
        n_events = _core.events_of_fragment(str(folder.path / part.file))
        return None if n_events == part.n_events else f"{part.file} has {plural(n_events, 'event')}"
    except Exception as error:  # of any kind: the damage may be anywhere in the file
        _raise_limit(error)
        return f"{part.file} cannot be read: {error}"
