"""Starts a command of forkrun in a clean process: one thread, nothing imported or opened."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from forkrun.base.wait_status import describe_status
from forkrun.errors import EVENTS_LEFT_OUT, ForkrunError, JobError
from forkrun.fork.failure import from_record, to_record

_FAILURE_FILE = "FORKRUN_FAILURE_FILE"
_failure_file = os.environ.pop(_FAILURE_FILE, "")
"""Belongs to this process alone: what it starts, such as nodes of a job, has none."""
_PR_SET_PDEATHSIG = 1  # of prctl(2)


class CleanCommand:
    """`words` and `environment` of the command, which leaves its error in a file `failure`."""

    def __init__(
        self, arguments: Sequence[str], failure: Path, environment: Mapping[str, str] = {}
    ) -> None:
        failure.unlink(missing_ok=True)
        self._failure = failure
        self.words = [sys.executable, "-P", "-m", "forkrun", *arguments]
        self.environment = {**os.environ, **environment, _FAILURE_FILE: str(self._failure)}

    def check(self, exit_code: int, what: str, may_lack_events: bool = True) -> None:
        """Raises the error that the command has ended with. `what`: names it in messages."""
        try:
            raise from_record(json.loads(self._failure.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            pass  # it left none
        if exit_code and not (may_lack_events and exit_code == EVENTS_LEFT_OUT):
            raise JobError(f"{what} ended: {describe_status(exit_code)}")


def leave_error(error: ForkrunError) -> bool:
    """Leaves the error for the program that has started this process so; False: none has."""
    if _failure_file:
        Path(_failure_file).write_text(json.dumps(to_record(error)), encoding="utf-8")
    return bool(_failure_file)


def is_clean_command() -> bool:
    """Whether this process was started so."""
    return bool(_failure_file)


def end_with_parent() -> None:
    """Ends this process with its parent, however that ends."""
    import ctypes  # few commands need it, and all load this file

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
