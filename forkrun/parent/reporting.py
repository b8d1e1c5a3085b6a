"""The whole report of a run: how the job went, and what its modules took."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from forkrun.base.durable import write_text
from forkrun.base.regular_file import read_regular
from forkrun.monitoring import report as reports
from forkrun.monitoring.records import read_records
from forkrun.monitoring.timing import write_run_timing
from forkrun.monitoring.timing.table import format_timing
from forkrun.plan import Plan
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit
from forkrun.rundir.start import check_no_link, remove_abandoned_reports


def write_report(
    run_dir: Path,
    *,
    plots: bool | None = True,
    commits: Sequence[Commit] | None = None,
    plan: Plan | None = None,
) -> dict[str, Any]:
    """Writes what `forkrun.monitoring.report.write_report` does, and `timing.json` and
    `trace.json`, if there is anything for them; `commits`, `plan`: if they are known. Returns what
    `report.json` holds. To be called under the lock. Raises InputError and OutputError."""
    check_no_link(RunDirectory(run_dir).plots)
    remove_abandoned_reports(RunDirectory(run_dir))
    records = read_records(run_dir, commits, plan.described() if plan else None)
    report = reports.write_report(run_dir, plots=plots, records=records)
    try:
        timing = write_run_timing(run_dir, records.ledger, records.config.get("paths", {}))
        added = format_timing(timing) if timing is not None else ""
    except (ArithmeticError, LookupError, OSError, TypeError, ValueError) as error:
        added = f"  Times of modules are left out: their records cannot be read ({error})\n"
    if added:
        text = RunDirectory(run_dir).report_text
        write_text(text, read_regular(text).decode() + "\n" + added)
    return report


def report_of_now(run_dir: Path) -> tuple[dict[str, Any], str]:
    """What `report.json` and `report.txt` would hold of a run in which another process works;
    nothing is written there. Raises InputError."""
    return reports.compose_report(run_dir, read_records(run_dir))
