"""How far a run is, from its ledgers, quickly: a million lines per second. A line that is complete
counts; whether it is damaged, the merge and a resumed job find out by its checksum."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from forkrun.base.json_lines import complete_lines
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit, ledger_files, read_revoked

_HEAD = re.compile(rb'\{"unit":(\d+),"child":\d+,"pid":\d+,"run":\d+,"lumi":\d+,"n_events":(\d+),')
_NONE_SKIPPED = b'"skipped":[],'
_N_UNITS = re.compile(rb'"n_units":(\d+),"block_size":\d+,"crc32":"[0-9a-f]{8}"\}$')
_END = re.compile(rb'"end_s":([\d.]+),')
_START = re.compile(rb'"start_s":([\d.]+),')
_N_HEAD, _N_TAIL = 160, 100
"""Bytes of a line in which the first and the last values are."""


@dataclass(frozen=True)
class RunProgress:
    """`n_units`, `n_events`: committed; `n_skipped`: events that were left out; `n_events_since`:
    in ledgers that were begun since the given time; `last_s`: of the last commit [s since the
    epoch], 0 if there is none."""

    n_units: int = 0
    n_events: int = 0
    n_skipped: int = 0
    n_events_since: int = 0
    last_s: float = 0.0


_Line = tuple[int, int, int, int]
"""Unit, units, events and events that were left out."""


def read_progress(folder: RunDirectory, since_s: float = 0.0) -> RunProgress:
    """Adds up the ledgers of one run directory. What is there twice counts once."""
    seen: dict[int, _Line] = {}
    n_since, last_s = 0, 0.0
    revoked = _revoked(folder)
    for file in ledger_files(folder.ledger):
        lines = _read(file)
        if not lines:
            continue
        found = dict(map(_counts, lines)) if not revoked else _that_hold(lines, revoked)
        last_s = max(last_s, _time(_END, lines[-1]))
        if _time(_START, lines[0]) >= since_s:
            n_since += sum(n_events for _, n_events, _ in found.values())
        seen.update({unit: (unit, *rest) for unit, rest in found.items()})
    seen.pop(-1, None)
    n_units, n_events, n_skipped = (sum(line[k] for line in seen.values()) for k in (1, 2, 3))
    return RunProgress(n_units, n_events, n_skipped, n_since, last_s)


def _revoked(folder: RunDirectory) -> set[tuple[int, float]]:
    damaged: list[str] = []
    return read_revoked(folder.ledger, damaged)


def _read(file: Path) -> list[bytes]:
    try:
        return [line for line in complete_lines(file.read_bytes()) if line]
    except OSError:
        return []


def _that_hold(
    lines: list[bytes], revoked: set[tuple[int, float]]
) -> dict[int, tuple[int, int, int]]:
    """Slower, and seldom needed: some commits of this run are revoked."""
    units = {unit for unit, _ in revoked}
    counts = ((line, *_counts(line)) for line in lines)
    return {
        unit: rest
        for line, unit, rest in counts
        if unit not in units or (unit, _time(_END, line)) not in revoked
    }


def _counts(line: bytes) -> tuple[int, tuple[int, int, int]]:
    """Unit, and its numbers of units, events and events left out; -1 for a line that is none."""
    head, tail = _HEAD.match(line), _N_UNITS.search(line, max(len(line) - _N_TAIL, 0))
    if head and tail and _NONE_SKIPPED in line[: _N_HEAD + 80]:
        return int(head[1]), (int(tail[1]), int(head[2]), 0)
    try:
        commit = Commit.from_line(line)
    except (ValueError, RecursionError):
        return -1, (0, 0, 0)
    return commit.unit, (commit.n_units, commit.n_events, len(commit.skipped))


def _time(pattern: re.Pattern[bytes], line: bytes) -> float:
    found = pattern.search(line)
    return float(found[1]) if found else 0.0
