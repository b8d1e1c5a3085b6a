"""From a run directory to `report.json`, `report.txt` and `plots/`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from forkrun.errors import OutputError
from forkrun.monitoring.records import read_records
from forkrun.monitoring.summary import summarize
from forkrun.monitoring.text import format_text


def write_report(run_dir: Path, *, plots: bool = True) -> dict[str, Any]:
    """Reads `run_dir` (finished, failed or partial) and writes the report's files beside its data.

    Returns what `report.json` holds (schema: docs/monitoring.md). The whole text is then in
    `RUNDIR/report.txt`, ready to be printed. Raises InputError if `run_dir` is no run directory and
    OutputError if it cannot be written. matplotlib is imported here and nowhere else: call it in a
    process that will not fork any more."""
    records = read_records(run_dir)
    summary = summarize(records)
    report = summary.to_json()
    try:
        _replace(run_dir / "report.json", json.dumps(report, indent=1) + "\n")
        _replace(run_dir / "report.txt", format_text(summary))
        if plots:
            from forkrun.monitoring.plots import write_plots

            write_plots(run_dir / "plots", records)
    except OSError as error:
        raise OutputError(f"{run_dir}: the report cannot be written: {error.strerror}") from error
    return report


def _replace(path: Path, text: str) -> None:
    """Writes beside, then renames, so that no reader meets half a file."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)
