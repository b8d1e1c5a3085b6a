"""Nothing half-written under a final name: temporary name, write, sync, rename, sync of the folder.

Temporary names cannot be guessed and are opened exclusively, and nothing is written through a
symbolic link: files of other users are never overwritten, even in folders that all may write.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from forkrun.base.regular_file import NotRegularError, read_regular
from forkrun.errors import ForkrunError, OutputError

_TEMPORARY = re.compile(r"(\.[0-9a-f]{8})?\.part$")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_APPEND = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC

_REMOTE = re.compile(r"/?(?:[^/]*/)*(root|roots|xroot|xroots|http|https|davs?|s3|gsiftp|srm):/")
"""A path meant as a URL that has lost its second slash."""
_REMEDIES = {
    (errno.ENOSPC, errno.EDQUOT): "free space, or choose another place with -o",
    (errno.EACCES, errno.EPERM, errno.EROFS): "choose a place that you may write to with -o",
    (errno.EFBIG,): "the file would exceed the limit on file sizes (ulimit -f)",
    (errno.ELOOP,): "a symbolic link is not followed here; remove it",
    (errno.EIO, errno.ESTALE): "the disk or its server failed; try again, or elsewhere with -o",
}


class output_errors:  # noqa: N801 -- as contextlib.suppress
    """Turns an OSError into an OutputError that names the path and the remedy."""

    def __init__(self, path: Path | str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, NotRegularError):
            raise OutputError(f"{error.filename}: {error.strerror}") from error
        if isinstance(error, OSError):
            where = error.filename or self._path
            raise OutputError(f"{where}: cannot write: {error.strerror}{_remedy(error)}") from error


def _remedy(error: OSError) -> str:
    return next((f"; {text}" for codes, text in _REMEDIES.items() if error.errno in codes), "")


@contextlib.contextmanager
def published(final: Path, *, durable: bool = True) -> Iterator[Path]:
    """A temporary name for writing; renamed to `final` if the body succeeds, else removed with all
    files whose names begin with it. The file does not exist yet, or is empty. Not `durable`:
    without syncs, for files that only save time. Errors name `final`. Raises OutputError for an
    OSError."""
    refuse_remote(final)
    temporary = temporary_name(final)
    try:
        with output_errors(final):
            final.parent.mkdir(parents=True, exist_ok=True)
            yield temporary
            if durable:
                sync(temporary)
            temporary.replace(final)
            if durable:
                sync(final.parent)
    except BaseException as error:
        _remove_begun(temporary)
        if isinstance(error, ForkrunError):
            error.args = tuple(_named(each, temporary, final) for each in error.args)
        raise


def _remove_begun(temporary: Path) -> None:
    """Removes a file that was begun, with files whose names it begins."""
    folder, name = temporary.parent, temporary.name
    for left in os.listdir(folder) if folder.is_dir() else ():
        if left == name or left.startswith(f"{name}."):
            with contextlib.suppress(OSError):
                (folder / left).unlink()


def _named(said: Any, temporary: Path, final: Path) -> Any:
    return said.replace(str(temporary), str(final)) if isinstance(said, str) else said


@contextlib.contextmanager
def published_folder(final: Path) -> Iterator[Path]:
    """A temporary name for a new folder, like `published` for a file; replaces an existing
    folder."""
    temporary = temporary_name(final)
    try:
        with output_errors(final):
            temporary.mkdir(parents=True)
            yield temporary
            sync(temporary)
            if final.is_dir() and not final.is_symlink():
                shutil.rmtree(final)
            temporary.replace(final)
            sync(final.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def temporary_name(final: Path) -> Path:
    """A new temporary name in the folder of `final`."""
    return final.with_name(f"{final.name}.{os.urandom(4).hex()}.part")


def final_name(name: str) -> str:
    """The final name of a file that may have its temporary one."""
    return _TEMPORARY.sub("", name)


def write_bytes(path: Path, data: bytes, *, durable: bool = True, mode: int = 0o644) -> None:
    """Writes the whole new content of a file, or leaves the old one."""
    with published(path, durable=durable) as temporary, open_new(temporary, mode) as file:
        file.write(data)


def write_text(path: Path, text: str, *, mode: int = 0o644) -> None:
    """Writes a text in UTF-8, like `write_bytes`."""
    write_bytes(path, text.encode(), mode=mode)


def write_json(path: Path, value: Any, indent: int | None = 1, *, mode: int = 0o644) -> None:
    """Writes JSON and an end of line, like `write_bytes`. `indent` None: compact and much
    faster."""
    write_text(path, json.dumps(value, indent=indent) + "\n", mode=mode)


def write_columns(path: Path, value: Any) -> None:
    """Writes compact JSON of a value that contains arrays of integers, each (n,), like
    `write_json`."""
    from forkrun import _core  # loading ROOT's libraries takes 40 ms

    columns: list[Any] = []
    mark = os.urandom(8).hex()

    def mark_for(column: Any) -> str:
        columns.append(column)
        return mark

    first, *pieces = json.dumps(value, default=mark_for).split(f'"{mark}"')
    with published(path) as temporary, open_new(temporary) as file:
        file.write(first.encode())
        for column, piece in zip(columns, pieces, strict=True):
            file.writelines((_core.json_list(column), piece.encode()))
        file.write(b"\n")


def refuse_remote(path: Path) -> None:
    """Raises OutputError for a URL, which would make a local folder named "root:"."""
    if _REMOTE.match(str(path)):
        raise OutputError(
            f"{path}: outputs are written to local files, not to servers: choose a local place with"
            " -o, then copy from there (xrdcp -f FILE URL; jobs on nodes: batch.stage_out)"
        )


def require_folder(path: Path) -> None:
    """Raises OutputError if the folder of a file named by the user does not exist."""
    refuse_remote(path)
    if not path.parent.is_dir():
        raise OutputError(f"{path}: folder not found: {path.parent}")


def write_user_file(path: Path, content: str | bytes) -> None:
    """Writes a file named by the user: also a pipe or a device, such as /dev/stdout."""
    require_folder(path)
    data = content.encode() if isinstance(content, str) else content
    if path.exists() and not path.is_file():
        with output_errors(path), path.open("wb") as file:
            file.write(data)
    else:
        write_bytes(path, data)


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file; empty if the file is missing or unreadable."""
    try:
        return json_object(path)
    except OSError:
        return {}


def json_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file; empty if the file is missing or damaged. Raises OSError if it
    cannot be read."""
    try:
        value = json.loads(read_regular(path))
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def open_new(path: Path | str, mode: int = 0o644) -> Any:
    """Opens a new binary file. Raises FileExistsError, also for a symbolic link."""
    return os.fdopen(os.open(path, _NEW, mode), "wb")


def write_new(path: str, pieces: Iterable[bytes | memoryview]) -> None:
    """Writes a file and syncs it to disk; replaces an old one of this name."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    with open_new(path) as file:
        file.writelines(pieces)
        file.flush()
        os.fsync(file.fileno())


def open_new_descriptor(path: Path | str) -> int:
    """Opens a new file like `open_new`, to append without a buffer."""
    return os.open(path, _NEW | os.O_APPEND, 0o644)


def open_to_append(path: Path | str) -> int:
    """Opens a new or existing file, not a symbolic link; returns its descriptor."""
    return os.open(path, _APPEND, 0o644)


def write_all(descriptor: int, data: bytes) -> None:
    """Writes all of `data`, usually by one call; on a full disk a second call raises."""
    n_written = os.write(descriptor, data)
    while n_written < len(data):
        n_written += os.write(descriptor, data[n_written:])


def sync(path: Path | str) -> None:
    """Waits until a file, or the names in a folder, are on disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove(path: Path) -> None:
    """Removes a file, a folder with its content, or a symbolic link, not its target."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
