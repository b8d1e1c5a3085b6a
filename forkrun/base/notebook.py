"""Jobs in notebooks: progress as a bar below the cell, messages as its output. The clean parent
process of a job writes marked lines of progress among others, and the notebook's process draws
them: only it can."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from forkrun.base.progress import MARK, PROGRESS, ProgressBar

_VIEW_EVERY_S = 2.0


def run_with_progress(
    command: Sequence[str],
    environment: Mapping[str, str],
    descriptors: Sequence[int],
    view: Callable[[], Any] | None = None,
) -> int:
    """Runs a process with its output in the cell and its progress as a bar; returns its exit
    status. An interrupt of the cell stops the job as on a terminal. `view`: makes the view below
    the bar, called again every few seconds; it returns None for no view yet."""
    bars: dict[str, ProgressBar] = {}
    shown = _View(view)
    with subprocess.Popen(
        command,
        env={**environment, PROGRESS: "marked"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=descriptors,
        text=True,
        errors="replace",
        start_new_session=True,  # an interrupt of the kernel comes once, from here
    ) as process:
        while True:
            try:
                _show(process, bars, shown)
                shown.again(is_over=True)
                return process.wait()
            except KeyboardInterrupt:
                os.kill(process.pid, signal.SIGINT)


class _View:
    """A view at one place of the cell's output."""

    def __init__(self, view: Callable[[], Any] | None) -> None:
        self._view, self._next_s = view, 0.0
        self._handle: Any = None

    def again(self, *, is_over: bool = False) -> None:
        """Updates the view, if the last update is some time ago or the job is over."""
        now_s = time.monotonic()
        ipython = sys.modules.get("IPython.display")
        if self._view is None or ipython is None or (now_s < self._next_s and not is_over):
            return
        self._next_s = now_s + _VIEW_EVERY_S
        if (view := self._view()) is None:
            return
        if self._handle is None:
            self._handle = ipython.display(view, display_id=True)
        else:
            self._handle.update(view)


def _show(process: subprocess.Popen[str], bars: dict[str, ProgressBar], shown: _View) -> None:
    for line in process.stdout or ():
        before, mark, state = line.partition(MARK)
        if not mark:
            print(line, end="")
            continue
        print(before, end="")
        _draw(json.loads(state), bars)
        shown.again()


def _draw(state: Mapping[str, Any], bars: dict[str, ProgressBar]) -> None:
    what = str(state["what"])
    if what not in bars:
        bars[what] = ProgressBar(state["total"], what)
    bar = bars[what]
    bar.update(state["done"])
    if note := state.get("note"):
        bar.note(str(note))
    if state["done"] >= state["total"]:
        bar.close()
