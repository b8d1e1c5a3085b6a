"""Timeline, samples and commits as JSON Lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from forkrun.monitoring.records import RunRecords


def all_lines(_: Path, records: RunRecords) -> bytes:
    """In order of time; `kind` says what a line is, `time_s` is in seconds since the epoch (of a
    commit when it was made)."""
    lines: list[dict[str, Any]] = []
    for line in records.timeline:
        lines.append({"kind": "timeline", **line.details})
    for sample in records.samples:
        lines.append({"kind": "sample", **to_builtins(sample)})
    for commit in records.ledger:
        lines.append({"kind": "commit", "time_s": commit.end_s, **to_builtins(commit)})
    lines.sort(key=lambda line: line["time_s"])
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()
