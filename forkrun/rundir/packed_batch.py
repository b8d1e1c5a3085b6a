"""Files of `batch/` about nodes, kept in one archive after the job is collected."""

from __future__ import annotations

import errno
import fnmatch
import io
import os
import re
import tarfile
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from forkrun.base.durable import published, remove, write_bytes
from forkrun.base.regular_file import is_regular, open_regular, read_regular
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.packing import read_members

_OF_NODES = re.compile(r"(parts|ends|logs)/[^/]+")


def pack_batch(folder: RunDirectory, files: Iterable[Path]) -> None:
    """Moves files of folders in `batch/` into `batch/nodes.tar`, keeping its other members, under
    the lock of the job. Raises OutputError and leaves files that are not packed unchanged."""
    found = {_name(file): file for file in files if is_regular(file)}
    if not found:
        return
    place = folder.packed_nodes
    with published(place) as temporary, tarfile.open(temporary, "x") as archive:
        for name in sorted(found):
            archive.add(found[name], arcname=name)
        for name in sorted(_packed(place).keys() - found.keys()):
            _add(archive, name, read_batch(folder.batch / name))
    for file in found.values():
        remove(file)


def unpack_batch(folder: RunDirectory) -> None:
    """Unpacks `batch/nodes.tar` into the original places, for nodes that work again, under the lock
    of the job; existing files stay. Raises OutputError."""
    for name in _packed(folder.packed_nodes):
        place = folder.batch / name
        if not place.exists():
            write_bytes(place, read_batch(place), durable=False)
    folder.packed_nodes.unlink(missing_ok=True)


def read_batch(file: Path, last: int | None = None) -> bytes:
    """Content of a file in a folder of `batch/`, or its `last` bytes, unpacked or from
    `batch/nodes.tar`. Raises OSError."""
    with suppress(FileNotFoundError):
        if last is None:
            return read_regular(file)
        with os.fdopen(open_regular(file), "rb") as opened:
            opened.seek(max(os.fstat(opened.fileno()).st_size - last, 0))
            return opened.read()
    archive = RunDirectory(file.parents[2]).packed_nodes
    first, size = _packed(archive).get(_name(file), (0, -1))
    if size < 0:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(file))
    wanted = size if last is None else min(last, size)
    with os.fdopen(open_regular(archive), "rb") as opened:
        opened.seek(first + size - wanted)
        return opened.read(wanted)


def find_in_batch(folder: Path, pattern: str) -> list[Path]:
    """Files in this folder of `batch/` whose names match, oldest first; packed ones if none."""
    if found := list(folder.glob(pattern)):
        return sorted(found, key=lambda file: file.stat().st_mtime)
    names = _packed(RunDirectory(folder.parents[1]).packed_nodes)
    return [folder.parent / name for name in fnmatch.filter(names, f"{folder.name}/{pattern}")]


def _name(file: Path) -> str:
    """Name in the archive, with the file's folder."""
    return f"{file.parent.name}/{file.name}"


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mtime = len(content), int(time.time())
    archive.addfile(member, io.BytesIO(content))


def _packed(archive: Path) -> Mapping[str, tuple[int, int]]:
    """Offset and size of each member's content, by name; empty if the archive is missing or
    unreadable."""
    try:
        state = archive.lstat()
    except OSError:
        return {}
    return _places(archive, state.st_ino, state.st_mtime_ns)


@lru_cache(maxsize=1)
def _places(archive: Path, inode: int, time_ns: int) -> Mapping[str, tuple[int, int]]:
    """Offset and size of each member, read once for thousands of nodes. `inode`, `time_ns`: of the
    archive."""
    return {
        member.name: (member.offset_data, member.size)
        for member, _ in read_members(archive, _OF_NODES)
    }
