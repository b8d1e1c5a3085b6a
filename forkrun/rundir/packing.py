"""Packs files of a finished node: thousands of nodes have tens of files each, and file systems of
sites limit their number."""

from __future__ import annotations

import os
import re
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

from forkrun.base.durable import published, remove
from forkrun.base.regular_file import is_regular, open_regular
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
