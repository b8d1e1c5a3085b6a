"""Jobs in notebooks: their progress is a bar below the cell, what they say is the cell's output.

The clean parent process of a job writes its progress among its other lines, marked, and the
notebook's process draws it: only that one can."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from forkrun.base.quantities import progress_line
from forkrun.base.streams import unfiltered

PROGRESS = "FORKRUN_PROGRESS"
"""Set in the environment of a process whose progress another one shows."""
_MARK = "\x1eforkrun progress "
_EVERY_S = 0.2


def in_notebook() -> bool:
    """Whether this process is a notebook's kernel."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and "IPKernelApp" in shell.config


class MarkedLines:
    """Progress for the process that reads this one's output."""

    def __init__(self, total: int, what: str) -> None:
        self._total, self._what = total, what
        self._said_s = 0.0
        self._n_done = 0

    def update(self, n_done: int) -> None:
        self._n_done = n_done
        if time.monotonic() - self._said_s >= _EVERY_S:
            self._say()

    def close(self) -> None:
        self._say()

    def _say(self) -> None:
        self._said_s = time.monotonic()
        state = {"what": self._what, "total": self._total, "done": self._n_done}
        print(_MARK + json.dumps(state), file=unfiltered(sys.stderr), flush=True)


class NotebookBar:
    """A bar in HTML, one for each thing that is counted; drawn again in its place."""

    def __init__(self, total: int, what: str) -> None:
        self._total, self._what = total, what
        self._start_s = time.monotonic()
        self._drawn_s = 0.0
        self._n_done = 0
        self._handle: Any = None

    def update(self, n_done: int) -> None:
        self._n_done = n_done
        if time.monotonic() - self._drawn_s >= _EVERY_S:
            self._draw()

    def close(self) -> None:
        self._draw()

    def _draw(self) -> None:
        from IPython.display import HTML, display

        self._drawn_s = time.monotonic()
        page = HTML(bar_html(self._n_done, self._total, self._drawn_s - self._start_s, self._what))
        if self._handle is None:
            self._handle = display(page, display_id=True)
        else:
            self._handle.update(page)


def bar_html(n_done: int, total: int, elapsed_s: float, what: str) -> str:
    """`total`: 0 if there is nothing to do. Pure."""
    from html import escape

    line = escape(progress_line(n_done, total, elapsed_s, what))
    return f'<progress value="{n_done}" max="{max(total, 1)}"></progress> <code>{line}</code>'


def run_shown(
    command: Sequence[str], environment: Mapping[str, str], descriptors: Sequence[int]
) -> int:
    """Runs a process whose output becomes that of the cell, and its progress a bar; returns its
    exit status. An interrupt of the cell stops the job as it does on a terminal."""
    bars: dict[str, NotebookBar] = {}
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
                _show(process, bars)
                return process.wait()
            except KeyboardInterrupt:
                os.kill(process.pid, signal.SIGINT)


def _show(process: subprocess.Popen[str], bars: dict[str, NotebookBar]) -> None:
    for line in process.stdout or ():
        before, mark, state = line.partition(_MARK)
        if not mark:
            print(line, end="")
            continue
        print(before, end="")
        _draw(json.loads(state), bars)


def _draw(state: Mapping[str, Any], bars: dict[str, NotebookBar]) -> None:
    what = str(state["what"])
    if what not in bars:
        bars[what] = NotebookBar(state["total"], what)
    bar = bars[what]
    bar.update(state["done"])
    if state["done"] >= state["total"]:
        bar.close()
