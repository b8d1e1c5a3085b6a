"""Packs files of finished nodes: thousands of nodes have tens of files each, and file systems of
sites limit their number. A node packs its own files; `batch/` is packed when the job is
collected."""

from __future__ import annotations

import errno
import fnmatch
import io
import os
import re
import shutil
import tarfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import IO

from forkrun.base.durable import published, remove, write_bytes
from forkrun.base.regular_file import is_regular, open_regular, read_regular
from forkrun.rundir.directory import LUMIS, RunDirectory, unused

_PACKED = (
    "logs", "monitoring", "output", "plan.json", "conditions.json", "lumis.json", "datasets.json",
    "outputs.json",
    "report.json", "report.txt", "report.html", "plots", "timing.json", "trace.json",
    *(f"{name}{suffix}" for name in LUMIS.values() for suffix in ("", ".json")),
)  # fmt: skip
"""Names of files and folders that a node rewrites or does without when it works again."""
_MOST_BYTES = 256 << 20
"""Maximum total size of the packed files of units: larger files are few for their volume."""
_OF_UNITS = re.compile(r"\d+/[^/]+")


def pack_records(node: RunDirectory) -> None:
    """Moves logs, samples and reports into `records.tar`, under the lock, but not a node's outputs.
    Packs a symbolic link as one. Raises OutputError and leaves files that are not packed
    unchanged."""
    found = [node.path / name for name in _PACKED if (node.path / name).exists()]
    if node.outputs_of_node.exists():
        found.remove(node.output)
    if not found:
        return
    with published(unused(node.records)) as temporary, tarfile.open(temporary, "x") as archive:
        for place in found:
            archive.add(place, arcname=place.name)
    for place in found:
        remove(place)


def pack_units(node: RunDirectory) -> None:
    """Moves the files of units into `units.tar`, under the lock of the node, unless they are large.
    Raises OutputError and changes nothing."""
    files = [file for file in node.units.glob("*/*") if is_regular(file)]
    if len(files) < 2 or sum(file.stat().st_size for file in files) > _MOST_BYTES:
        return
    with published(node.packed_units) as temporary, tarfile.open(temporary, "x") as archive:
        for file in sorted(files):
            archive.add(file, arcname=str(file.relative_to(node.units)))
    remove(node.units)


def unpack_units(node: RunDirectory) -> None:
    """Unpacks `units.tar` into the original places; existing files stay. The archive stays as well,
    as unpacked files are not synced. Several processes may do so at the same time. Unreadable
    members are left missing, for their readers to notice. Raises OutputError."""
    if node.units.is_symlink():
        return
    with suppress(OSError, tarfile.TarError):
        for member, content in read_members(node.packed_units, _OF_UNITS):
            place = node.units / member.name
            if not place.exists():
                with published(place, durable=False) as temporary, temporary.open("xb") as copy:
                    shutil.copyfileobj(content, copy)


def read_members(
    archive: Path, names: re.Pattern[str]
) -> Iterator[tuple[tarfile.TarInfo, IO[bytes]]]:
    """Regular files in an archive whose names match, up to its first damage."""
    with (
        suppress(OSError, tarfile.TarError),
        os.fdopen(open_regular(archive), "rb") as file,
        tarfile.open(fileobj=file, mode="r:") as opened,
    ):
        for member in opened:
            content = opened.extractfile(member) if member.isfile() else None
            if content and names.fullmatch(member.name):
                yield member, content


_OF_NODES = re.compile(r"(parts|ends|logs)/[^/]+")


# --- files of `batch/` ----------------------------------------------------------------------------


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
