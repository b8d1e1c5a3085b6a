"""`resources.json` for the circles viewer (https://github.com/fwyzard/circles), in the form of
CMSSW's FastTimerService."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from forkrun.monitoring.records import RunRecords
from forkrun.monitoring.timing import read_timing
from forkrun.monitoring.timing.model import ModuleTiming

_RESOURCES = (
    ("time_real", "real time"),
    ("time_thread", "cpu time"),
)
_MS = 1000.0


def resources(run: Path, records: RunRecords) -> bytes:
    """Times in ms, summed over all events, threads and children. Raises InputError if the job
    measured no modules."""
    timing = read_timing(run)
    name = records.config.get("job", {}).get("name", "job")
    total = {
        "type": "Job",
        "label": name,
        "events": timing.n_events,
        "time_real": _MS * timing.wall_s,
        "time_thread": _MS * timing.cpu_s,
    }
    content = {
        "modules": [_module(module, timing.n_events) for module in timing.modules if module.count],
        "resources": [
            {"name": key, "description": text, "unit": "ms", "title": "Time"}
            for key, text in _RESOURCES
        ],
        "total": total,
    }
    return (json.dumps(content, indent=2) + "\n").encode()


def _module(module: ModuleTiming, n_events: int) -> dict[str, Any]:
    return {
        "type": module.kind,
        "label": module.label,
        "events": n_events,
        "time_real": _MS * module.total_s,
        "time_thread": _MS * module.cpu_s,
    }
