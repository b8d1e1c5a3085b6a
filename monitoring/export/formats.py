"""Export formats by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

from forkrun.monitoring.export.circles import resources
from forkrun.monitoring.export.openmetrics import metrics
from forkrun.monitoring.export.perfetto import perfetto_trace
from forkrun.monitoring.export.prmon import prmon_json, prmon_text
from forkrun.monitoring.records import RunRecords


def all_lines(_: Path, records: RunRecords) -> bytes:
    """All records as JSON Lines in order of time; `kind`: type of the line, `time_s`: in seconds
    since the epoch (commits: their end)."""
    lines: list[dict[str, Any]] = []
    for line in records.timeline:
        lines.append({"kind": "timeline", **line.details})
    for sample in records.samples:
        lines.append({"kind": "sample", **to_builtins(sample)})
    for commit in records.ledger:
        lines.append({"kind": "commit", "time_s": commit.end_s, **to_builtins(commit)})
    lines.sort(key=lambda line: line["time_s"])
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()


class ExportFormat(Struct, frozen=True):
    """`write`: returns the file's content, for a run directory and its records."""

    text: str
    write: Callable[[Path, RunRecords], bytes]


FORMATS = {
    "prmon": ExportFormat("samples in the text of prmon, which prmon_plot.py draws", prmon_text),
    "prmon-json": ExportFormat("averages and maxima in the JSON of prmon", prmon_json),
    "circles": ExportFormat("resources.json of modules for the circles viewer", resources),
    "perfetto": ExportFormat("trace of all processes for ui.perfetto.dev", perfetto_trace),
    "openmetrics": ExportFormat("figures of now for Prometheus, also while the job runs", metrics),
    "jsonl": ExportFormat("timeline, samples and commits as JSON Lines", all_lines),
}
