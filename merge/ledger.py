"""What children have committed: one JSON line per unit of work, in one file per child."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from forkrun.errors import OutputError


@dataclass(frozen=True)
class OutputPart:
    """A temporary output. `file`: relative to the run directory; `digest`: of the ids written."""

    file: str
    n_events: int
    digest: str
    n_bytes: int


@dataclass(frozen=True)
class Commit:
    """One unit of work, done. `n_events` and `digest`: what was read; times in seconds since the
    epoch; `histograms`: a file relative to the run directory, None if there are none."""

    unit: int
    child: int
    pid: int
    run: int
    lumi: int
    n_events: int
    digest: str
    outputs: dict[str, OutputPart]
    histograms: str | None
    start_s: float
    end_s: float
    wall_s: float
    cpu_s: float
    read_calls: int
    read_bytes: int

    def to_line(self) -> str:
        """One line of a ledger, with its end."""
        return json.dumps(asdict(self), separators=(",", ":")) + "\n"

    @classmethod
    def from_line(cls, line: str) -> Commit:
        """Inverse of `to_line`."""
        data: dict[str, Any] = json.loads(line)
        data["outputs"] = {label: OutputPart(**part) for label, part in data["outputs"].items()}
        return cls(**data)


def read_ledgers(folder: Path) -> list[Commit]:
    """Every commit, child by child. A last line without its end was being written when its child
    died: that unit is not committed."""
    return [
        _commit(file, line)
        for file in sorted(folder.glob("child-*.jsonl"))
        for line in file.read_text(encoding="utf-8").splitlines(keepends=True)
        if line.endswith("\n")
    ]


def _commit(file: Path, line: str) -> Commit:
    try:
        return Commit.from_line(line)
    except (ValueError, TypeError, KeyError) as error:
        raise OutputError(f"{file}: not a line of a ledger ({error}): {line[:80]!r}") from None
