"""What a job gives back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forkrun.rundir.directory import RunDirectory


@dataclass(frozen=True)
class Result:
    """`outputs`: merged file by label; `histograms`: their file, None if nothing was booked;
    `report`: as in report.json."""

    run_directory: Path
    outputs: dict[str, Path]
    histograms: Path | None
    report: dict[str, Any]

    @property
    def n_events_left_out(self) -> int:
        """Events that kill whoever processes them (recovery.on_bad_event = "skip")."""
        return int(self.report["events"]["n_events_left_out"])

    @classmethod
    def read(cls, run_directory: Path) -> Result:
        """Of a finished run."""
        folder = RunDirectory(run_directory)
        config = json.loads(folder.config.read_bytes())
        files = {o["label"]: folder.merged(o["label"]) for o in config["outputs"]}
        return cls(
            run_directory,
            {label: file for label, file in files.items() if file.exists()},
            folder.histograms if folder.histograms.exists() else None,
            json.loads(folder.report_json.read_bytes()),
        )
