"""Temporary outputs on their way into a merge: what is not as it was written is found, and its unit
is not committed any more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from forkrun import _core
from forkrun.base.durable import temporary_name
from forkrun.errors import DamagedFilesError, ForkrunError, VerificationError
from forkrun.merge.histograms import sum_histograms
from forkrun.merge.verify import id_branches
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit, HistogramPart, OutputPart, revoke

if TYPE_CHECKING:
    from forkrun.config import JobConfig

_SHOWN = 5


def check_part(folder: Path, part: OutputPart | HistogramPart) -> None:
    """Checks size and checksum of a file, just before it is read, so that the disk is read once.
    Raises VerificationError."""
    problem = _change(folder, part)
    if problem:
        raise VerificationError(problem)


def checked_files(folder: Path, parts: Iterable[HistogramPart]) -> Iterator[Path]:
    """Files of the parts; each is checked when it is asked for."""
    for part in parts:
        check_part(folder, part)
        yield folder / part.file


def revoke_damaged(
    folder: RunDirectory, config: JobConfig, commits: Sequence[Commit], error: Exception
) -> None:
    """Checks every file by itself after a merge that failed because of `error`. Raises
    DamagedFilesError if any is not as it was written or cannot be read; its unit is revoked."""
    found = [(c, why) for c in commits if (why := _damage(folder, config, c)) is not None]
    if not found:
        return
    revoke(folder.ledger, found)
    shown = [f"unit {commit.unit}: {why}" for commit, why in found[:_SHOWN]]
    if len(found) > _SHOWN:
        shown.append(f"and {len(found) - _SHOWN} more units")
    raise DamagedFilesError("\n".join(shown)) from error


def _damage(folder: RunDirectory, config: JobConfig, commit: Commit) -> str | None:
    for part in commit.parts:
        problem = _change(folder.path, part) or _unreadable(folder, config, part)
        if problem:
            return problem
    return None


def _change(folder: Path, part: OutputPart | HistogramPart) -> str | None:
    file = folder / part.file
    try:
        if file.stat().st_size != part.n_bytes:
            return f"{part.file} has {file.stat().st_size} bytes, not {part.n_bytes}"
        if _core.file_checksum(str(file)) != part.checksum:
            return f"{part.file} is not as it was written (checksum)"
    except FileNotFoundError:
        return f"{part.file} is missing"
    except (OSError, ForkrunError) as error:
        return f"{part.file} cannot be read: {error}"
    return None


def _unreadable(
    folder: RunDirectory, config: JobConfig, part: OutputPart | HistogramPart
) -> str | None:
    """Why a file of a unit cannot be read, None if it can: a disk that failed while it was written
    may have left a damaged file whose checksum agrees."""
    try:
        if isinstance(part, HistogramPart):
            sum_histograms([folder.path / part.file])
            return None
        return _other_events(folder, config, part)
    except Exception as error:  # of any kind: what is wrong may be anywhere in the file
        return f"{part.file} cannot be read: {error}"


def _other_events(folder: RunDirectory, config: JobConfig, part: OutputPart) -> str | None:
    """Merges the file alone, and reads the ids in it."""
    file, tree = str(folder.path / part.file), config.source.tree
    alone = temporary_name(folder.output / "alone.root")
    try:
        n_events = _core.merge_trees([file], str(alone), [tree])[tree]
    finally:
        alone.unlink(missing_ok=True)
    if n_events != part.n_events:
        return f"{part.file} has {n_events} events, not {part.n_events}"
    ids = id_branches(file, config.source)
    if ids and _core.tree_digest(file, tree, *ids).hex != part.digest:
        return f"{part.file} has other events than were written (digest)"
    return None
