"""Nothing half-written under a final name: write beside, sync, rename."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from forkrun.errors import OutputError


@contextlib.contextmanager
def written_beside(final: Path) -> Iterator[Path]:
    """A name to write under; renamed to `final` if the body ends well, removed if it does not."""
    beside = final.with_name(final.name + ".part")
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        beside.unlink(missing_ok=True)
        yield beside
        sync(beside)
        beside.replace(final)
        sync(final.parent)
    except OSError as error:
        raise OutputError(f"{error.filename or final}: cannot write: {error.strerror}") from error
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Waits until a file, or a folder's names, are on disk."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
