"""Nodes that work on a local disk."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from forkrun.batch.publishing import PUBLISHER, READY
from forkrun.errors import BatchError, OutputError
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.lock import RunLock, holder_died_here, is_held

_PREFIX = "forkrun-"
_PARENT = "parent.lock"
"""File in a node's folder on scratch, locked by the parent that works there."""
PUBLISH_S = 10.0
"""Part of a node's time reserved for publishing its last commits."""


@contextmanager
def on_scratch(scratch: str, shared: RunDirectory, every_s: float) -> Iterator[RunDirectory]:
    """A node's run directory below `scratch`, whose commits are published in `shared`. Raises
    BatchError if the folder does not exist, OutputError if its disk is full or fails, or if commits
    cannot be published."""
    if not scratch or not Path(scratch).is_dir():
        what = (
            f'"{scratch}" is not a folder on this node' if scratch else "it is empty on this node"
        )
        raise BatchError(f"batch.scratch: {what}; name another one, or none")
    _remove_abandoned(Path(scratch))
    try:
        folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{shared.path.name}-", dir=scratch))
    except OSError as error:
        raise BatchError(f"batch.scratch: {scratch}: {error.strerror}") from None
    local = RunDirectory(folder / "node")
    command = [sys.executable, "-P", "-m", "forkrun.batch.publishing", local.path, shared.path]
    publisher = subprocess.Popen(
        [*map(str, command), str(every_s)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        with RunLock.held(folder / _PARENT):
            _begin(publisher, shared)
            yield local
    except OutputError as error:
        if str(folder) not in str(error):
            raise
        raise OutputError(
            f"scratch of this node ({scratch}; batch.scratch names another place): {error}"
        ) from None
    finally:
        code = _end(publisher)
        shutil.rmtree(folder, ignore_errors=True)
    if code:
        raise OutputError(f"{shared.path}: commits of the node on scratch could not be published")


def _remove_abandoned(scratch: Path) -> None:
    """Removes folders of this user's nodes that were killed on this machine and are no longer being
    published."""
    for folder in scratch.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            is_own = folder.lstat().st_uid == os.geteuid() and not folder.is_symlink()
            publishes = is_held(folder / PUBLISHER)
            if is_own and not publishes and holder_died_here(folder / _PARENT):
                shutil.rmtree(folder, ignore_errors=True)


def _begin(publisher: subprocess.Popen[str], shared: RunDirectory) -> None:
    assert publisher.stdout is not None
    if publisher.stdout.readline().strip() != READY:
        raise OutputError(f"{shared.path}: it cannot be copied to scratch")


def _end(publisher: subprocess.Popen[str]) -> int:
    """Closes its input and waits until it has published everything."""
    for stream in (publisher.stdin, publisher.stdout):
        if stream:
            stream.close()
    return publisher.wait()
