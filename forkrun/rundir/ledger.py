"""What children have committed: one JSON line per unit of work, in one file per child."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forkrun.errors import OutputError

_AS_JSON = json.JSONEncoder(separators=(",", ":"), default=vars)


@dataclass(frozen=True)
class OutputPart:
    """A temporary output. `file`: relative to the run directory; `digest`: of the ids written."""

    file: str
    n_events: int
    digest: str
    n_bytes: int
    checksum: int


@dataclass(frozen=True)
class HistogramPart:
    """Histograms of a unit. `file`: relative to the run directory."""

    file: str
    n_bytes: int
    checksum: int


@dataclass(frozen=True)
class SkippedEvent:
    """An event that was left out, because it kills whoever processes it. `event`: its number;
    `file`, `entry`: where it is in the input."""

    event: int
    file: str
    entry: int
    cause: str


@dataclass(frozen=True)
class Commit:
    """One unit of work, done. `n_events` and `digest`: what was read; `skipped`: events of it
    that were left out, with their digest; times in seconds since the epoch; checksums are
    CRC-32C."""

    unit: int
    child: int
    pid: int
    run: int
    lumi: int
    n_events: int
    digest: str
    skipped: tuple[SkippedEvent, ...]
    skipped_digest: str
    outputs: dict[str, OutputPart]
    histograms: HistogramPart | None
    start_s: float
    end_s: float
    wall_s: float
    cpu_s: float
    read_calls: int
    read_bytes: int

    def to_line(self) -> str:
        """One line of a ledger, with its end."""
        return _AS_JSON.encode(self) + "\n"

    @classmethod
    def from_line(cls, line: str) -> Commit:
        """Inverse of `to_line`."""
        data: dict[str, Any] = json.loads(line)
        data["outputs"] = {label: OutputPart(**part) for label, part in data["outputs"].items()}
        if data["histograms"]:
            data["histograms"] = HistogramPart(**data["histograms"])
        data["skipped"] = tuple(SkippedEvent(**event) for event in data["skipped"])
        return cls(**data)

    @property
    def parts(self) -> list[OutputPart | HistogramPart]:
        """All files of the unit."""
        return [*self.outputs.values(), *([self.histograms] if self.histograms else [])]


REVOKED = "revoked.jsonl"
"""Beside the ledgers: one line {"unit", "end_s", "why"} per commit that does not hold any more."""


def read_ledgers(folder: Path) -> list[Commit]:
    """Every commit that holds, process by process. A last line without its end was being written
    when its child died: that unit is not committed."""
    commits = [
        _commit(file, line)
        for file in sorted(folder.glob("child-*.jsonl"))
        for line in file.read_text(encoding="utf-8").splitlines(keepends=True)
        if line.endswith("\n")
    ]
    revoked = read_revoked(folder)
    return [c for c in commits if (c.unit, c.end_s) not in revoked] if revoked else commits


def read_revoked(folder: Path) -> set[tuple[int, float]]:
    """(unit, end_s) of commits that do not hold any more."""
    file = folder / REVOKED
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    records = [json.loads(line) for line in lines]
    return {(record["unit"], record["end_s"]) for record in records}


def _commit(file: Path, line: str) -> Commit:
    try:
        return Commit.from_line(line)
    except (ValueError, TypeError, KeyError) as error:
        raise OutputError(f"{file}: not a line of a ledger ({error}): {line[:80]!r}") from None
