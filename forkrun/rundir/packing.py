"""Packs what is only read by people, of a node that is done: thousands of nodes have tens of files
each, which file systems of sites limit."""

from __future__ import annotations

import tarfile

from forkrun.base.durable import published, remove
from forkrun.rundir.directory import RunDirectory, unused

_PACKED = (
    "logs", "monitoring", "output", "plan.json", "conditions.json", "lumis.json", "outputs.json",
    "report.json", "report.txt", "plots", "timing.json", "trace.json",
)  # fmt: skip
"""Names of what a node that is asked to work again writes anew, or does without."""


def pack_records(node: RunDirectory) -> None:
    """Moves logs, samples and reports into `records.tar`, under the lock. A symbolic link is packed
    as one. Raises OutputError; what is not packed then is as it was."""
    found = [node.path / name for name in _PACKED if (node.path / name).exists()]
    if not found:
        return
    with published(unused(node.records)) as temporary, tarfile.open(temporary, "x") as archive:
        for place in found:
            archive.add(place, arcname=place.name)
    for place in found:
        remove(place)
