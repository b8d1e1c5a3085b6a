"""Fault injection, to prove that a job survives faults.

FORKRUN_CHAOS is a JSON list of faults: {"fault": "SIGKILL", "at": "before_rename", "unit": 17,
"times": 1}. `at`: "begin" of a unit, "before_rename" and "after_rename" of its outputs,
"after_ledger"; `unit`: null for any; `times`: in the whole job (1). `fault`: SIGKILL, SIGSEGV,
SIGABRT; SIGALRM (in the midst of the unit, "delay_s" later); "exit" (os._exit(0)), "raise", "hang",
"ENOSPC" (a real one, of /dev/full), "truncate" (an output loses its second half,
then SIGKILL), "kill_parent". `install` puts them between the steps of a child; the module is
`forkrun` with them: `FORKRUN_CHAOS='[…]' python -m tests.server.fault_injection run JOB.toml`.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, convert

from forkrun import _core
from forkrun.child.units import ChildUnits
from forkrun.rundir.ledger import Ledger
from forkrun.rundir.unit_files import UnitFiles

VARIABLE = "FORKRUN_CHAOS"
Moment = Literal["begin", "before_rename", "after_rename", "after_ledger"]
Fault = Literal[
    "SIGKILL", "SIGSEGV", "SIGABRT", "SIGALRM", "exit", "raise", "hang", "ENOSPC", "truncate",
    "kill_parent",
]  # fmt: skip
_WARM_UP = "forkrun-warm-up-"
"""In paths of the warm-up job, which no fault strikes."""


class PlannedFault(Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of the list."""

    fault: Fault
    at: Moment = "begin"
    unit: int | None = None
    times: int = 1
    delay_s: float = 0.01


class _Faults:
    """Made before the fork: what has struck is counted for all processes together."""

    def __init__(self, faults: Sequence[PlannedFault]) -> None:
        self._faults = [(fault, _core.UnitCounter(fault.times)) for fault in faults]
        self._units: dict[str, range] = {}
        """In flight, by the folder of their outputs."""

    def begin(self, folder: str, units: range) -> None:
        """Units begin."""
        self._units[folder] = units
        self.strike("begin", folder)

    def strike(self, moment: Moment, folder: str) -> None:
        """Injects the faults planned for this moment. `folder`: of the outputs of the units."""
        if _WARM_UP in folder:
            return
        for fault, counter in self._faults:
            if fault.at != moment or fault.unit not in (None, *self._units[folder]):
                continue
            if counter.take(0) is not None:
                _do(fault, folder)


def install() -> None:
    """Has the faults that the environment names strike in jobs of this process."""
    faults = _Faults(convert(json.loads(os.environ[VARIABLE]), list[PlannedFault]))
    next_units, probe_folder = ChildUnits.next, UnitFiles.probe_folder
    publish, append = UnitFiles.publish, Ledger.append
    folders: dict[int, str] = {}

    def next_with_faults(self: ChildUnits) -> _core.UnitToDo | None:
        units = next_units(self)
        if units is not None:
            number, (stretch, _) = next(reversed(self._begun.items()))
            folders[number] = self._work.files.folder(number)
            faults.begin(folders[number], stretch.numbers)
        return units

    def probe_with_faults(self: UnitFiles, number: int, child: int) -> str:
        folder = probe_folder(self, number, child)
        faults.begin(folder, range(number, number + 1))
        return folder

    def publish_with_faults(self: UnitFiles, folder: str) -> None:
        faults.strike("before_rename", folder)
        publish(self, folder)
        faults.strike("after_rename", folder)

    def append_with_faults(self: Ledger, commit: Any) -> None:
        append(self, commit)
        faults.strike("after_ledger", folders[commit.unit])

    for owner, name, function in (
        (ChildUnits, "next", next_with_faults),
        (UnitFiles, "probe_folder", probe_with_faults),
        (UnitFiles, "publish", publish_with_faults),
        (Ledger, "append", append_with_faults),
    ):
        setattr(owner, name, function)


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


if __name__ == "__main__":
    from forkrun.cli import command

    install()
    command()
