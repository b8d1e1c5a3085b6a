"""Files of `batch/` about nodes, of which a collected job keeps one archive."""

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
    """Moves these files of folders in `batch/` into `batch/nodes.tar`, beside what that has, under
    the lock of the job. Raises OutputError; what is not packed then is as it was."""
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
    """Puts what `batch/nodes.tar` holds where it was, for nodes that work again, under the lock of
    the job; what is there already stays. Raises OutputError."""
    for name in _packed(folder.packed_nodes):
        place = folder.batch / name
        if not place.exists():
            write_bytes(place, read_batch(place), durable=False)
    folder.packed_nodes.unlink(missing_ok=True)


def read_batch(file: Path, last: int | None = None) -> bytes:
    """Content of a file in a folder of `batch/`, or so many bytes at its end, where it is or in
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
    """Files of this folder of `batch/` whose names match, the oldest first, or else packed ones."""
    if found := list(folder.glob(pattern)):
        return sorted(found, key=lambda file: file.stat().st_mtime)
    names = _packed(RunDirectory(folder.parents[1]).packed_nodes)
    return [folder.parent / name for name in fnmatch.filter(names, f"{folder.name}/{pattern}")]


def _name(file: Path) -> str:
    """In the archive: with the folder that it is in."""
    return f"{file.parent.name}/{file.name}"


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mtime = len(content), int(time.time())
    archive.addfile(member, io.BytesIO(content))


def _packed(archive: Path) -> Mapping[str, tuple[int, int]]:
    """Where content begins in it, and its size, by name; none if there is no archive, or what is
    there is none."""
    try:
        state = archive.lstat()
    except OSError:
        return {}
    return _places(archive, state.st_ino, state.st_mtime_ns)


@lru_cache(maxsize=1)
def _places(archive: Path, inode: int, time_ns: int) -> Mapping[str, tuple[int, int]]:
    """Read once, for thousands of nodes: `inode` and `time_ns` are of the archive."""
    return {
        member.name: (member.offset_data, member.size)
        for member, _ in read_members(archive, _OF_NODES)
    }
