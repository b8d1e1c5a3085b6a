"""The parent's timeline of events, in `monitoring/events.jsonl`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Literal

from forkrun.base.json_lines import JsonLines
from forkrun.rundir.directory import RunDirectory

TimelineEvent = Literal[
    "job_start",
    "index_done",
    "modules_built",
    "histograms",
    "fork",
    "child_started",
    "child_first_event",
    "child_exit",
    "recovery",
    "warning",
    "resume",
    "merge_start",
    "merge_end",
    "job_end",
]


class Timeline:
    """Writes `RUNDIR/monitoring/events.jsonl`. Safe across a fork: nothing is buffered."""

    def __init__(self, run_dir: Path) -> None:
        self._lines = JsonLines(RunDirectory(run_dir).timeline)

    def record(
        self,
        event: TimelineEvent,
        *,
        child: int | None = None,
        pid: int | None = None,
        time_s: float | None = None,
        **details: Any,
    ) -> None:
        """Adds a line. `time_s`: seconds since the epoch, default now. Details shown in the report:
        `command=`, `outcome=` ("ok", or a description of the failure), `unfinished=` (stopped
        cleanly, can be resumed) and `help=` (further lines on it) of "job_end", `status=` (words),
        `exit_code=` (negative: signal) and `failed=` of "child_exit", `text=` of "warning",
        `outputs=` of "merge_end": by label {"n_events", "digest" (None: no ids in the file),
        "n_bytes"}."""
        self._lines.append(
            [
                {
                    "time_s": time.time() if time_s is None else time_s,
                    "event": event,
                    "child": child,
                    "pid": pid,
                    **details,
                }
            ]
        )

    def close(self) -> None:
        self._lines.close()
