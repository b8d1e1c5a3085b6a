"""What a job gives back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from forkrun.errors import InputError
from forkrun.parent.histograms import Histograms
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import read_ledgers


@dataclass(frozen=True)
class Result:
    """`outputs`: by label the merged file, or the folder of files by lumi; `histogram_file`: that
    of the booked ones, None if nothing was booked; `report`: as in report.json, empty if there is
    none."""

    run_directory: Path
    outputs: dict[str, Path]
    histogram_file: Path | None
    report: dict[str, Any]

    @cached_property
    def histograms(self) -> Histograms:
        """The booked histograms as `hist.Hist`, by name."""
        return Histograms(self.histogram_file)

    @property
    def n_events_left_out(self) -> int:
        """Events that crash the child (recovery.on_bad_event = "skip")."""
        if "events" in self.report:
            return int(self.report["events"]["n_events_left_out"])
        commits = read_ledgers(RunDirectory(self.run_directory).ledger)
        return sum(len(commit.skipped) for commit in commits)

    @classmethod
    def read(cls, run_directory: Path) -> Result:
        """Reads the result of a finished run. Raises InputError."""
        folder = RunDirectory(run_directory)
        config = _read(folder.config)
        files = {
            output["label"]: folder.merged(output["label"], output.get("per_lumi", False))
            for output in config.get("outputs", [])
        }
        return cls(
            run_directory,
            {label: file for label, file in files.items() if file.exists()},
            folder.histograms if folder.histograms.exists() else None,
            _read(folder.report_json),
        )


def _read(path: Path) -> dict[str, Any]:
    """The object in a JSON file; empty if there is none: the outputs are what a job is for."""
    try:
        value = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    return value if isinstance(value, dict) else {}
