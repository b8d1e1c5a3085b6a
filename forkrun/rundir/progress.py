"""Fast progress of a run from its ledgers: a million lines in less than a second. Every complete
line counts; the merge and a resumed job check its checksum. Progress of nodes is read again only
where a ledger has grown."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any

from msgspec import Struct, convert
from msgspec.structs import astuple

from forkrun._core import CommitCounter
from forkrun.base.durable import read_json, write_bytes
from forkrun.base.regular_file import is_regular
from forkrun.errors import InputError, OutputError
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit, ledger_files, read_revoked


class RunProgress(Struct, frozen=True):
    """`n_units`, `n_events`: committed; `n_skipped`: events left out; `n_events_since`: in ledgers
    started since the given time; `last_s`: time of the last commit [s since the epoch], 0 if
    none."""

    n_units: int = 0
    n_events: int = 0
    n_skipped: int = 0
    n_events_since: int = 0
    last_s: float = 0.0


def read_progress(folder: RunDirectory, since_s: float = 0.0) -> RunProgress:
    """Sums the ledgers of one run directory. Repeated commits count once."""
    counter = CommitCounter()
    n_since, last_s = 0, 0.0
    revoked = read_revoked(folder.ledger, [])
    apart = {unit for unit, _ in revoked}
    for file in filter(is_regular, ledger_files(folder.ledger)):
        with suppress(InputError):
            n_events, start_s, end_s, others = counter.read(str(file), apart)
            n_events += _read_whole(others, revoked, counter)
            n_since += n_events if start_s >= since_s else 0
            last_s = max(last_s, end_s)
    n_units, n_events, n_skipped = counter.total()
    return RunProgress(n_units, n_events, n_skipped, n_since, last_s)


def _read_whole(lines: list[bytes], revoked: set[tuple[int, float]], counter: CommitCounter) -> int:
    """Counts the commits among lines, and returns their events. Slower, and rarely needed: for
    skipped events, revoked commits or damaged lines."""
    n_events = 0
    for line in lines:
        with suppress(ValueError, RecursionError):
            commit = Commit.from_line(line)
            if (commit.unit, commit.end_s) not in revoked:
                counter.put(commit.unit, commit.n_units, commit.n_events, len(commit.skipped))
                n_events += commit.n_events
    return n_events


_FORM = 1


class KnownProgress:
    """Progress of nodes found the last time, cached in the run directory if it is writable."""

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
        """Writes the cache."""
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
