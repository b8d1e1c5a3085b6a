"""Reads files safely where other users may write: a pipe, device or link in place of a file neither
blocks the reader nor passes for its content."""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from pathlib import Path

from forkrun.base.quantities import plural

MOST_BYTES = 4 << 30
"""Size limit of one record of a run: the plan of a job of 10⁸ units is smaller."""
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC


class NotRegularError(OSError):
    """Something else is in the place of a file. `strerror`: problem and remedy."""

    def __str__(self) -> str:
        return str(self.strerror)


_recently_read: deque[str] = deque(maxlen=100)


def recently_read() -> list[str]:
    """Paths of records read by this process, the last first: for an error without another reason,
    one of them may be damaged."""
    return list(dict.fromkeys(reversed(_recently_read)))


def read_regular(path: Path | str, folder: int | None = None) -> bytes:
    """Content of a regular file; `folder`: descriptor of the folder that it is in. Raises OSError,
    also for symbolic links, special files and too large ones."""
    descriptor = open_regular(path, folder)
    _recently_read.append(os.fspath(path))
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        return bytes(file.readall() or b"")


def open_regular(path: Path | str, folder: int | None = None) -> int:
    """Descriptor of a regular file, for reading; raises like `read_regular`."""
    descriptor = _opened(path, _READ, folder)
    try:
        state = os.fstat(descriptor)
        if stat.S_ISDIR(state.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(state.st_mode):
            raise NotRegularError(errno.EINVAL, "it is not a regular file; remove it", str(path))
        if state.st_size > MOST_BYTES:
            what = f"it has {plural(state.st_size, 'byte')}, more than any record; remove it"
            raise NotRegularError(errno.EFBIG, what, str(path))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def is_regular(path: Path | str) -> bool:
    """Whether `read_regular` would read the file."""
    try:
        state = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(state.st_mode) and state.st_size <= MOST_BYTES


def open_folder(path: Path | str) -> int:
    """Descriptor of a folder. Raises OSError, also for a symbolic link."""
    try:
        return os.open(path, _FOLDER)
    except NotADirectoryError:
        if os.path.islink(path):
            raise _link(path) from None
        raise


def _opened(path: Path | str, flags: int, folder: int | None) -> int:
    try:
        return os.open(path if folder is None else os.path.basename(path), flags, dir_fd=folder)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise _link(path) from None


def _link(path: Path | str) -> NotRegularError:
    what = "a symbolic link is not followed here; remove it"
    return NotRegularError(errno.ELOOP, what, str(path))
