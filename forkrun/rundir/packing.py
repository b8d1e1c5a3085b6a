"""Packs files of a node that is done: thousands of nodes have tens of files each, which file
systems of sites limit."""

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
"""Names of what a node that is asked to work again writes anew, or does without."""
_MOST_BYTES = 256 << 20
"""Together, of files of units that are packed: larger ones are few for what they hold."""
_OF_UNITS = re.compile(r"\d+/[^/]+")


def pack_records(node: RunDirectory) -> None:
    """Moves logs, samples and reports into `records.tar`, under the lock, but not what a node has
    made of the outputs. A symbolic link is packed as one. Raises OutputError; what is not packed
    then is as it was."""
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
    """Moves what units have written into `units.tar`, under the lock of the node; not what is
    large. Raises OutputError; then all is as it was."""
    files = [file for file in node.units.glob("*/*") if is_regular(file)]
    if len(files) < 2 or sum(file.stat().st_size for file in files) > _MOST_BYTES:
        return
    with published(node.packed_units) as temporary, tarfile.open(temporary, "x") as archive:
        for file in sorted(files):
            archive.add(file, arcname=str(file.relative_to(node.units)))
    remove(node.units)


def unpack_units(node: RunDirectory) -> None:
    """Puts what `units.tar` holds where the units wrote it; what is there already stays. The
    archive stays as well, as what is unpacked is not synced. Several processes may do so at the
    same time. What cannot be read of it is missing: who needs it finds that. Raises OutputError."""
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
    """Regular files in an archive whose names match, up to where it is damaged."""
    with (
        suppress(OSError, tarfile.TarError),
        os.fdopen(open_regular(archive), "rb") as file,
        tarfile.open(fileobj=file, mode="r:") as opened,
    ):
        for member in opened:
            content = opened.extractfile(member) if member.isfile() else None
            if content and names.fullmatch(member.name):
                yield member, content
