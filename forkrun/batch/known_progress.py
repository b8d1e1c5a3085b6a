"""Progress of nodes, read again only where a ledger has grown since the last time."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any

from msgspec import convert
from msgspec.structs import astuple

from forkrun.base.durable import read_json, write_bytes
from forkrun.errors import OutputError
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.progress import RunProgress, read_progress

_FORM = 1


class KnownProgress:
    """Progress found the last time, cached in the run directory where it is writable. Only saves
    time."""

    def __init__(self, folder: RunDirectory) -> None:
        self._folder = folder
        kept = read_json(folder.batch / "progress.json")
        nodes = kept.get("nodes") if kept.get("form") == _FORM else None
        self._known: dict[str, Any] = nodes if isinstance(nodes, dict) else {}
        self._has_changed = False

    def read(self, number: int, since_s: float) -> RunProgress:
        """Progress of a node, like `read_progress`."""
        node = self._folder.node(number)
        state = [since_s, *_sizes(node)]
        known = self._known.get(node.path.name)
        if isinstance(known, list) and known[:1] == [state]:
            with suppress(ValueError, LookupError, TypeError):  # it is damaged
                names = RunProgress.__struct_fields__
                return convert(dict(zip(names, known[1], strict=True)), RunProgress)
        progress = read_progress(node, since_s)
        self._known[node.path.name] = [state, list(astuple(progress))]
        self._has_changed = True
        return progress

    def keep(self) -> None:
        """Keeps it for the next time."""
        if self._has_changed:
            data = json.dumps({"form": _FORM, "nodes": self._known}, separators=(",", ":"))
            with suppress(OutputError):
                write_bytes(self._folder.batch / "progress.json", data.encode(), durable=False)


def _sizes(node: RunDirectory) -> list[str]:
    """Name and size of each ledger: they only grow."""
    try:
        with os.scandir(node.ledger) as entries:
            return sorted(f"{entry.name} {entry.stat().st_size}" for entry in entries)
    except OSError:
        return []
