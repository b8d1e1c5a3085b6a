"""Runs a function in a forked copy of this process, which it leaves as it was."""

from __future__ import annotations

import json
import os
import signal
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from forkrun.base.wait_status import describe_status
from forkrun.errors import StoppedError
from forkrun.fork.forking import Process
from forkrun.fork.once_crew import OnceCrew
from forkrun.fork.supervisor import Supervisor

Say = Callable[[Any], None]


class _TimedCrew(OnceCrew):
    """One process, killed when its time is over."""

    def __init__(self, limit_s: float) -> None:
        super().__init__([0], lambda: None)
        self._end_s = time.monotonic() + limit_s
        self.is_late = False

    def tick(self, running: Mapping[int, int]) -> Mapping[int, int]:
        if time.monotonic() > self._end_s:
            self.is_late = True
            return dict.fromkeys(running, signal.SIGKILL)
        return super().tick(running)


def run_aside(work: Callable[[Say], None], limit_s: float) -> tuple[list[Any], str]:
    """What `work` has said, JSON-ready values in their order; and how the process died, "" if it
    did not. Raises StoppedError if this process gets a signal. Call it in a process with one
    thread."""
    with tempfile.TemporaryFile() as answers:

        def body() -> int:
            def say(value: Any) -> None:
                answers.write(json.dumps(value).encode() + b"\n")
                answers.flush()

            work(say)
            return 0

        crew = _TimedCrew(limit_s)
        Supervisor(lambda _: Process(body, Path(os.devnull)), crew).run()
        if crew.signal_number:
            name = signal.Signals(crew.signal_number).name
            raise StoppedError(f"stopped by signal {name}", crew.signal_number)
        answers.seek(0)
        lines = answers.read().decode().split("\n")[:-1]
    code = crew.exit_codes[0]
    died = f"it took more than {limit_s:.0f} s" if crew.is_late else describe_status(code)
    return [json.loads(line) for line in lines], died if code else ""
