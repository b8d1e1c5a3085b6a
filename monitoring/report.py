"""From a run directory to `report.json`, `report.txt` and `plots/`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forkrun.base.durable import write_text
from forkrun.errors import InputError
from forkrun.monitoring.records import RunRecords, read_records
from forkrun.monitoring.summary import summarize
from forkrun.monitoring.text import format_text
from forkrun.rundir.directory import RunDirectory

_PLOTS_FROM_S = 60.0
"""Length of a job from which on its plots are drawn unasked: they take 2 s."""


def write_report(
    run_dir: Path, *, plots: bool | None = True, records: RunRecords | None = None
) -> dict[str, Any]:
    """Reads `run_dir` (finished, failed or partial) and writes the report's files next to its data;
    `records`: what was read of it already.

    Returns what `report.json` holds (schema: docs/monitoring.md). The whole text is then in
    `RUNDIR/report.txt`, ready to be printed. Raises InputError if `run_dir` is not a run directory
    and OutputError if it cannot be written. `plots`: None draws them only for jobs that took so
    long that two seconds of drawing do not matter. matplotlib is imported here and nowhere else:
    call it in a process that will not fork any more."""
    records = records or read_records(run_dir)
    report, text = compose_report(run_dir, records)
    folder = RunDirectory(run_dir)
    write_text(folder.report_text, text)
    write_text(folder.report_json, _as_text(report))  # the last: it says that there is a report
    if plots is None:
        plots = (report["job"].get("wall_s") or 0.0) >= _PLOTS_FROM_S
    if plots:
        from forkrun.monitoring.plots import write_plots

        write_plots(folder.plots, records)
    return report


def compose_report(run_dir: Path, records: RunRecords) -> tuple[dict[str, Any], str]:
    """What `report.json` holds, and the text. Raises InputError."""
    try:
        summary = summarize(records)
        return summary.to_json(), format_text(summary)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError(f"{run_dir}: its records have an unexpected form: {error!r}") from error


def _as_text(report: Mapping[str, Any]) -> str:
    """JSON with a line for each child: a job on many nodes has thousands."""
    entries = (f" {json.dumps(name)}: {_indented(value)}" for name, value in report.items())
    return "{\n" + ",\n".join(entries) + "\n}\n"


def _indented(value: Any) -> str:
    if isinstance(value, list) and value:
        return "[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n ]"
    return json.dumps(value, indent=1).replace("\n", "\n ")
