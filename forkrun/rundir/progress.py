"""How far a run is, from its ledgers, quickly: a million lines in some four seconds. A line that is
complete counts; whether it is damaged, the merge and a resumed job find out by its checksum."""

from __future__ import annotations

import re
from pathlib import Path

from forkrun.base.dataclass import dataclass
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit, ledger_files, read_revoked

_LINE = re.compile(
    rb'^\{"unit":(\d+),"child":\d+,"pid":\d+,"run":\d+,"lumi":\d+,"n_events":(\d+),"digest":"\w+",'
    rb'"skipped":\[\],.*"n_units":(\d+),"block_size":\d+,.*"crc32":"[0-9a-f]{8}"\}$',
    re.MULTILINE,
)
"""A whole file is searched at once, which is five times as fast as line by line."""
_END = re.compile(rb'"end_s":([\d.]+),')
_START = re.compile(rb'"start_s":([\d.]+),')


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


_Counts = dict[int, tuple[int, int, int]]
"""By first unit: units, events, and events that were left out."""


def read_progress(folder: RunDirectory, since_s: float = 0.0) -> RunProgress:
    """Adds up the ledgers of one run directory. What is there twice counts once."""
    seen: _Counts = {}
    n_since, last_s = 0, 0.0
    revoked = read_revoked(folder.ledger, [])
    for file in ledger_files(folder.ledger):
        data = _complete(file)
        if not data:
            continue
        counts = _line_by_line(data, revoked) if revoked else _counts(data)
        last_s = max(last_s, _time(_END, data[data.rfind(b"\n", 0, -1) + 1 :]))
        if _time(_START, data) >= since_s:
            n_since += sum(n_events for _, n_events, _ in counts.values())
        seen.update(counts)
    n_units, n_events, n_skipped = (sum(line[k] for line in seen.values()) for k in range(3))
    return RunProgress(n_units, n_events, n_skipped, n_since, last_s)


def _complete(file: Path) -> bytes:
    """Its complete lines."""
    try:
        data = file.read_bytes()
    except OSError:
        return b""
    return data[: data.rfind(b"\n") + 1]


def _counts(data: bytes) -> _Counts:
    found = _LINE.findall(data)
    if len(found) != data.count(b"\n"):
        return _line_by_line(data, set())
    return {int(unit): (int(n_units), int(n), 0) for unit, n, n_units in found}


def _line_by_line(data: bytes, revoked: set[tuple[int, float]]) -> _Counts:
    """Slower, and seldom needed: events were left out, commits revoked, or lines are damaged."""
    counts: _Counts = {}
    for line in data.splitlines():
        try:
            commit = Commit.from_line(line)
        except (ValueError, RecursionError):
            continue
        if (commit.unit, commit.end_s) not in revoked:
            counts[commit.unit] = (commit.n_units, commit.n_events, len(commit.skipped))
    return counts


def _time(pattern: re.Pattern[bytes], data: bytes) -> float:
    """The first one in the data."""
    found = pattern.search(data)
    return float(found[1]) if found else 0.0
