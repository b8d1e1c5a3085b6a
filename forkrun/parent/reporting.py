"""The whole report of a run: how the job went, and what its modules took."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from forkrun import monitoring
from forkrun.monitoring.records import read_records
from forkrun.monitoring.timing import write_run_timing
from forkrun.monitoring.timing.table import format_timing
from forkrun.rundir.directory import output_errors


def write_report(run_dir: Path, *, plots: bool = True) -> dict[str, Any]:
    """`report.json`, `report.txt` and `plots/`, as `forkrun.monitoring.write_report`; beside them
    `timing.json` and `trace.json`, if there is anything for them. Gives what `report.json` holds.
    Raises InputError and OutputError."""
    report = monitoring.write_report(run_dir, plots=plots)
    records = read_records(run_dir)
    timing = write_run_timing(run_dir, records.ledger, records.config.get("paths", {}))
    if timing is not None:
        text = run_dir / "report.txt"
        with output_errors(text), text.open("a", encoding="utf-8") as file:
            file.write("\n" + format_timing(timing))
    return report
