"""Fault injection, to prove that a job survives faults.

FORKRUN_CHAOS is a JSON list of faults: {"fault": "SIGKILL", "at": "before_rename", "unit": 17,
"times": 1}. `at`: "begin" of a unit, "before_rename" and "after_rename" of its outputs,
"after_ledger"; `unit`: null for any; `times`: in the whole job (1). `fault`: SIGKILL, SIGSEGV,
SIGABRT; SIGALRM (in the midst of the unit, "delay_s" later); "exit" (os._exit(0)), "raise", "hang",
"ENOSPC" (a real one, of /dev/full), "truncate" (an output loses its second half,
then SIGKILL), "kill_parent". For tests and studies; nothing else of the job changes.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

from msgspec import Struct

from forkrun import _core
from forkrun.base.nearest import suggestion
from forkrun.errors import ConfigError

Moment = Literal["begin", "before_rename", "after_rename", "after_ledger"]
Fault = Literal[
    "SIGKILL", "SIGSEGV", "SIGABRT", "SIGALRM", "exit", "raise", "hang", "ENOSPC", "truncate",
    "kill_parent",
]  # fmt: skip


class PlannedFault(Struct, frozen=True):
    """One entry of the list."""

    fault: Fault
    at: Moment = "begin"
    unit: int | None = None
    times: int = 1
    delay_s: float = 0.01


class Chaos:
    """Made before the fork: what has struck is counted for all processes together."""

    def __init__(self, faults: Sequence[PlannedFault] = ()) -> None:
        self._faults = [(fault, _core.UnitCounter(fault.times)) for fault in faults]

    @classmethod
    def from_environment(cls) -> Chaos:
        """Raises ConfigError."""
        text = os.environ.get("FORKRUN_CHAOS")
        return cls(parse_faults(text)) if text else cls()

    def strike(self, moment: Moment, units: range, folder: str) -> None:
        """Injects the faults planned for this moment. `folder`: of the outputs of the units."""
        for fault, counter in self._faults:
            if fault.at != moment or (fault.unit is not None and fault.unit not in units):
                continue
            if counter.take(0) is not None:
                _do(fault, folder)


def parse_faults(text: str) -> list[PlannedFault]:
    """Parses the list. Raises ConfigError that names the wrong entry."""
    try:
        entries = json.loads(text)
        faults = [PlannedFault(**entry) for entry in entries]
    except (ValueError, TypeError) as error:
        raise ConfigError(f"FORKRUN_CHAOS: {error}") from None
    for fault in faults:
        for value, choices in ((fault.fault, get_args(Fault)), (fault.at, get_args(Moment))):
            if value not in choices:
                what = f'FORKRUN_CHAOS: unknown value "{value}"'
                raise ConfigError(what + suggestion(value, choices))
    return faults


def _do(fault: PlannedFault, folder: str) -> None:
    match fault.fault:
        case "SIGKILL" | "SIGSEGV" | "SIGABRT":
            os.kill(os.getpid(), signal.Signals[fault.fault])
        case "SIGALRM":
            signal.setitimer(signal.ITIMER_REAL, fault.delay_s)
        case "exit":
            os._exit(0)
        case "raise":
            raise RuntimeError("chaos: an exception")
        case "hang":
            _wait_for_ever()
        case "ENOSPC":
            _meet_full_disk()
        case "truncate":
            for file in Path(folder).glob("*.fragment*"):
                os.truncate(file, file.stat().st_size // 2)
            os.kill(os.getpid(), signal.SIGKILL)
        case "kill_parent":
            os.kill(os.getppid(), signal.SIGKILL)
            _wait_for_ever()  # this process goes with it


def _wait_for_ever() -> None:
    while True:
        time.sleep(3600)


def _meet_full_disk() -> None:
    with Path("/dev/full").open("wb", buffering=0) as full:
        full.write(bytes(1 << 20))
