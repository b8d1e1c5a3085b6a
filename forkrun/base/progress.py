"""Events done, rate and time left: a bar on a terminal and in a notebook, plain lines elsewhere.
Never a thread."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
import warnings
from functools import cached_property
from typing import Any, Protocol

from forkrun.base.quantities import progress_line
from forkrun.base.streams import tell, unfiltered

PROGRESS = "FORKRUN_PROGRESS"
"""Environment variable of a process whose progress another one shows."""
MARK = "\x1eforkrun progress "
"""Beginning of lines for that process."""
_LINE_EVERY_S = 5.0
_MARK_EVERY_S = 0.2
_BAR = "{desc} {bar} {percentage:3.0f}% {n:,} of {total:,}, {rate_noinv_fmt}, {remaining} left"


class ProgressDisplay(Protocol):
    """Shows the progress of a job."""

    def update(self, n_done: int) -> None:
        """Shows the number done."""

    def note(self, text: str) -> None:
        """Sets a short remark next to the progress."""

    def close(self) -> None:
        """Ends the display: the job is over."""


def make_progress(total: int, what: str, quiet: bool) -> ProgressDisplay:
    """The display that fits stderr. `what`: name of the counted things: "events", "merged"."""
    if quiet:
        return NoProgress()
    if PROGRESS in os.environ:
        return MarkedLines(total, what)
    is_shown = sys.stderr is not None and (in_notebook() or sys.stderr.isatty())
    return ProgressBar(total, what) if is_shown else ProgressLines(total, what)


def in_notebook() -> bool:
    """Whether this process is a notebook's kernel."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and "IPKernelApp" in shell.config


class NoProgress:
    """Shows nothing."""

    def update(self, n_done: int) -> None:
        """Nothing to show."""

    def note(self, text: str) -> None:
        """Nothing to say."""

    def close(self) -> None:
        """Nothing to close."""


class ProgressBar:
    """tqdm's bar, for terminals and notebooks; without its thread, which forks do not allow."""

    def __init__(self, total: int, what: str) -> None:
        self._total, self._what = total, what

    @cached_property
    def _bar(self) -> Any:
        """Created with the first update: only then tqdm is imported."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # without ipywidgets the bar is text
            from tqdm.auto import tqdm
        tqdm.monitor_interval = 0
        return tqdm(
            total=self._total, desc=self._what, unit="", bar_format=_BAR, miniters=1,
            ncols=None if in_notebook() else shutil.get_terminal_size().columns,
            nrows=20,  # a terminal may not know its size
            file=unfiltered(sys.stderr),
        )  # fmt: skip

    def update(self, n_done: int) -> None:
        self._bar.update(n_done - self._bar.n)

    def note(self, text: str) -> None:
        self._bar.set_description_str(f"{self._what} ({text})")

    def close(self) -> None:
        self._bar.close()


class ProgressLines:
    """A line every few seconds, for logs."""

    every_s = _LINE_EVERY_S

    def __init__(self, total: int, what: str) -> None:
        self._total, self._what, self._n_done = total, what, 0
        self._noted = ""
        self._start_s = self._said_s = time.monotonic()

    def update(self, n_done: int) -> None:
        self._n_done, now_s = n_done, time.monotonic()
        if now_s - self._said_s >= self.every_s:
            self._said_s = now_s
            self._say()

    def note(self, text: str) -> None:
        self._noted = text

    def close(self) -> None:
        """Prints nothing: the summary of the job follows."""

    def _say(self) -> None:
        elapsed_s = self._said_s - self._start_s
        line = progress_line(self._n_done, self._total, elapsed_s, self._what)
        tell(f"{line} ({self._noted})" if self._noted else line)


class MarkedLines(ProgressLines):
    """Lines for the process that reads this one's output."""

    every_s = _MARK_EVERY_S

    def close(self) -> None:
        self._say()

    def _say(self) -> None:
        state = {"what": self._what, "total": self._total, "done": self._n_done}
        state |= {"note": self._noted} if self._noted else {}
        print(MARK + json.dumps(state), file=unfiltered(sys.stderr), flush=True)
