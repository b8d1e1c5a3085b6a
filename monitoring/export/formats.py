"""Formats by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from forkrun.monitoring.export.circles import resources
from forkrun.monitoring.export.json_lines import all_lines
from forkrun.monitoring.export.openmetrics import metrics
from forkrun.monitoring.export.perfetto import perfetto_trace
from forkrun.monitoring.export.prmon import prmon_json, prmon_text
from forkrun.monitoring.records import RunRecords


class ExportFormat(Struct, frozen=True):
    """`write`: from a run directory and its records to a file's content."""

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
