"""Events done, rate and time left: a bar on a terminal and in a notebook, plain lines elsewhere.
Never a thread."""

from __future__ import annotations

import os
import sys
import time
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from forkrun.base.notebook import PROGRESS, MarkedLines, NotebookBar, in_notebook
from forkrun.base.quantities import progress_line
from forkrun.base.streams import tell, unfiltered

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_LINE_EVERY_S = 5.0
_BAR_EVERY_S = 0.1


class ProgressDisplay(Protocol):
    """Shows how far a job is."""

    def update(self, n_done: int) -> None:
        """Shows how many have been done, of all that were planned."""

    def close(self) -> None:
        """The job has ended, well or not."""


def make_progress(total: int, what: str, quiet: bool) -> ProgressDisplay:
    """What fits stderr. `what` is counted: "events", "merged"."""
    if quiet:
        return NoProgress()
    if PROGRESS in os.environ:
        return MarkedLines(total, what)
    if in_notebook():
        return NotebookBar(total, what)
    is_shown = sys.stderr is not None and sys.stderr.isatty()
    return ProgressBar(total, what) if is_shown else ProgressLines(total, what)


class NoProgress:
    """Shows nothing."""

    def update(self, n_done: int) -> None:
        """Nothing to show."""

    def close(self) -> None:
        """Nothing to close."""


class ProgressBar:
    """rich's bar, redrawn by `update` only: its refresh thread would stand in the way of a fork."""

    def __init__(self, total: int, what: str) -> None:
        self._total, self._what = total, what
        self._start_s = time.monotonic()
        self._drawn_s = 0.0
        self._n_done = 0

    def update(self, n_done: int) -> None:
        self._n_done = n_done
        now_s = time.monotonic()
        if now_s - self._drawn_s < _BAR_EVERY_S:
            return
        self._drawn_s = now_s
        self._draw()

    @cached_property
    def _shown(self) -> tuple[Progress, TaskID]:
        """Begins when there is something to show."""
        return _begin_bar(self._total, self._what)

    def _draw(self) -> None:
        bar, task = self._shown
        rate = self._n_done / max(time.monotonic() - self._start_s, 1e-9)
        bar.update(task, completed=self._n_done, rate=f"{rate:,.0f}/s")
        bar.refresh()

    def close(self) -> None:
        self._draw()
        self._shown[0].stop()


def _begin_bar(total: int, what: str) -> tuple[Progress, TaskID]:
    from rich.console import Console  # rich is loaded when there is something to show
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn(what),
        BarColumn(),
        TaskProgressColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=Console(file=unfiltered(sys.stderr)),
        auto_refresh=False,
    )
    task = bar.add_task(what, total=total, rate="")
    bar.start()
    return bar, task


class ProgressLines:
    """A line every few seconds, for logs."""

    def __init__(self, total: int, what: str) -> None:
        self._total, self._what = total, what
        self._start_s = self._last_s = time.monotonic()

    def update(self, n_done: int) -> None:
        now_s = time.monotonic()
        if now_s - self._last_s < _LINE_EVERY_S:
            return
        self._last_s = now_s
        tell(progress_line(n_done, self._total, now_s - self._start_s, self._what))

    def close(self) -> None:
        """The summary of the job follows."""
