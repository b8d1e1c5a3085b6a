"""From a run directory to `report.json`, `report.txt` and `plots/`."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def write_report(run_dir: Path, *, plots: bool = True) -> dict[str, Any]:
    """Reads `run_dir` (finished, failed or partial) and writes the report's files beside its data.

    Returns what `report.json` holds (schema: docs/monitoring.md). The whole text is then in
    `RUNDIR/report.txt`, ready to be printed. Raises InputError if `run_dir` is no run directory and
    OutputError if it cannot be written. matplotlib is imported here and nowhere else: call it in a
    process that will not fork any more."""
    raise NotImplementedError
