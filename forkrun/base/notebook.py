"""Jobs in notebooks: their progress is a bar below the cell, what they say is the cell's output.

The clean parent process of a job writes its progress among its other lines, marked, and the
notebook's process draws it: only that one can."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from forkrun.base.progress import MARK, PROGRESS, ProgressBar


def run_shown(
    command: Sequence[str], environment: Mapping[str, str], descriptors: Sequence[int]
) -> int:
    """Runs a process whose output becomes that of the cell, and its progress a bar; returns its
    exit status. An interrupt of the cell stops the job as it does on a terminal."""
    bars: dict[str, ProgressBar] = {}
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


def _show(process: subprocess.Popen[str], bars: dict[str, ProgressBar]) -> None:
    for line in process.stdout or ():
        before, mark, state = line.partition(MARK)
        if not mark:
            print(line, end="")
            continue
        print(before, end="")
        _draw(json.loads(state), bars)


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
