"""Live view without a terminal: in a notebook, or as text."""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from forkrun.base.arguments import check_path
from forkrun.errors import InputError
from forkrun.monitoring.live.screen import ORDERS, render
from forkrun.monitoring.live.state import LiveJob, LiveRun
from forkrun.rundir.directory import RunDirectory

_WIDTH, _MOST_ROWS = 100, 40
_EVERY_S = 2.0
_AS_HTML = "<pre style='line-height:1.25'>{code}</pre>"


class RunningJob:
    """A job running here, on another machine or on many nodes, seen from its run directory:
    `forkrun.RunningJob("job-run")`. Printed, and as the last line of a notebook's cell, it shows
    the current state of the job, like `forkrun top`; `watch()` keeps showing it."""

    def __init__(self, run_directory: str | Path) -> None:
        """Raises InputError if no job has begun there."""
        call = "RunningJob(…)"
        self.run_directory = check_path(call, "run_directory", run_directory).absolute()
        folder = RunDirectory(self.run_directory)
        if not folder.config.exists():
            raise InputError(f"{folder.path}: no job runs here: it has no {folder.config.name}")
        self._job = LiveJob(LiveRun(self.run_directory))

    @property
    def has_ended(self) -> bool:
        """Whether the job had ended, well or not, at the last look."""
        return self._job.whole.outcome is not None or self._job.whole.is_gone

    def __str__(self) -> str:
        return self._drawn().export_text().rstrip("\n")

    def __repr__(self) -> str:
        return f"<RunningJob in {self.run_directory}>"

    def _repr_html_(self) -> str:
        """HTML for notebooks."""
        return self._drawn().export_html(inline_styles=True, code_format=_AS_HTML)

    def watch(self) -> None:
        """Shows the job until it has ended, in one place of a notebook; interrupting the cell stops
        the view, not the job."""
        shown = None
        try:
            while True:
                shown = self._show(shown)
                if self.has_ended:
                    return
                time.sleep(_EVERY_S)
        except KeyboardInterrupt:
            return

    def _show(self, handle: Any) -> Any:
        display = getattr(sys.modules.get("IPython.display"), "display", None)
        if display is None:
            print(self, flush=True)
            return None
        if handle is None:
            return display(self, display_id=True)
        handle.update(self)
        return handle

    def _drawn(self) -> Console:
        self._job.look()
        console = Console(record=True, width=_WIDTH, file=io.StringIO(), color_system="standard")
        console.print(
            render(
                self._job, time.time(), width=_WIDTH, height=_MOST_ROWS, order=ORDERS[0], first=0,
                note=" ",
            )
        )  # fmt: skip
        return console
