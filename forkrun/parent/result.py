"""What a job gives back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


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
        config = json.loads((run_directory / "config.json").read_bytes())
        folder = run_directory / "output"
        files = {o["label"]: folder / f"{o['label']}.root" for o in config["outputs"]}
        histograms = folder / "histograms.root"
        return cls(
            run_directory,
            {label: file for label, file in files.items() if file.exists()},
            histograms if histograms.exists() else None,
            json.loads((run_directory / "report.json").read_bytes()),
        )
