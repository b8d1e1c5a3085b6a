"""Starts processes, waits for them, passes signals on. A crew decides what is to be done."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from forkrun import _core
from forkrun.fork.forking import Process, fork_processes
from forkrun.fork.signals import STOP_SIGNALS, SignalQueue

_PROC = Path("/proc/self/task")


def own_children(tasks: Path = _PROC) -> set[int]:
    """Processes whose parent is this one, also those that have ended and not been waited for."""
    found: set[int] = set()
    for task in tasks.iterdir():
        with contextlib.suppress(OSError):  # the thread has ended; or a kernel without this file
            found.update(map(int, (task / "children").read_text().split()))
    return found


class Orphans:
    """While open, this process adopts them. Children that it had before are left alone."""

    def __enter__(self) -> Orphans:
        self._before = own_children()
        _core.adopt_orphans(True)
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        _core.adopt_orphans(False)

    def end(self, but: Collection[int] = ()) -> None:
        """Kills those that are there, and what these leave, apart from the processes `but`."""
        while orphans := own_children() - self._before - {*but}:
            for pid in orphans:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for pid in orphans:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)


INTERVAL_S = 0.1


class Crew(Protocol):
    """Decides which children run, and what is done when something happens."""

    @property
    def interval_s(self) -> float:
        """Time between two ticks, at the most."""

    def due(self) -> Sequence[int]:
        """Children to be started now."""

    def started(self, child: int, pid: int) -> None:
        """A child was forked; called in the parent."""

    def ended(self, child: int, pid: int, exit_code: int) -> None:
        """A child has ended and was waited for; a negative code is the signal that killed it."""

    def signalled(self, number: int) -> None:
        """The parent got this signal."""

    def tick(self, running: Mapping[int, int]) -> Mapping[int, int]:
        """Several times per second. `running`: pid by child. Gives signals to send, by child."""


class Supervisor:
    """`process_of(child)`: what a child that is due runs."""

    def __init__(
        self,
        process_of: Callable[[int], Process],
        crew: Crew,
        signals: Sequence[signal.Signals] = STOP_SIGNALS,
    ) -> None:
        self._process_of = process_of
        self._crew = crew
        self._signals = signals
        self._running: dict[int, int] = {}

    def run(self) -> None:
        """Returns when no child runs and none is due."""
        with SignalQueue(self._signals) as signals, Orphans() as orphans:
            try:
                self._start_due()
                self._send(self._crew.tick(self._running))
                while self._running:
                    for number in signals.wait(self._crew.interval_s):
                        self._crew.signalled(number)
                    if self._reap():
                        orphans.end(but=self._running.values())
                    self._send(self._crew.tick(self._running))
                    self._start_due()
            finally:
                self._kill_all()

    def _start_due(self) -> None:
        due = self._crew.due()
        if not due:
            return
        pids = fork_processes([self._process_of(child) for child in due])
        self._running.update(zip(due, pids, strict=True))
        for child, pid in zip(due, pids, strict=True):
            self._crew.started(child, pid)

    def _reap(self) -> bool:
        """Whether any child has ended."""
        n_before = len(self._running)
        for child, pid in list(self._running.items()):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                del self._running[child]
                self._crew.ended(child, pid, os.waitstatus_to_exitcode(status))
        return len(self._running) < n_before

    def _send(self, signals: Mapping[int, int]) -> None:
        for child, number in signals.items():
            os.kill(self._running[child], number)

    def _kill_all(self) -> None:
        """Kills all children, so that none is left after any failure of the loop."""
        for pid in self._running.values():
            os.kill(pid, signal.SIGKILL)
        for pid in self._running.values():
            os.waitpid(pid, 0)
        self._running.clear()
