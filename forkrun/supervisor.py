"""Starts children, waits for them, stops them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from forkrun.signals import SignalQueue

_INTERVAL_S = 0.1


class Observer(Protocol):
    """Who wants to know how the children are."""

    def started(self, child: int, pid: int) -> None:
        """After the fork, in the parent."""

    def ended(self, child: int, pid: int, exit_code: int) -> None:
        """After the wait; negative: the signal that killed it."""

    def stopping(self) -> None:
        """The children left have just been asked to end."""

    def tick(self) -> None:
        """Several times per second."""


@dataclass
class Outcome:
    """How the children ended. `failed`: the first that did, with its exit code; `signal_number`:
    what the parent was asked to stop by, else 0."""

    exit_codes: dict[int, int] = field(default_factory=dict)
    failed: tuple[int, int] | None = None
    signal_number: int = 0


class Supervisor:
    """`fork(child)` gives the pid of a new child. A child that fails, or a signal to the parent,
    stops all: SIGTERM (finish the unit in work), then after `grace_s` SIGKILL."""

    def __init__(
        self, fork: Callable[[int], int], observer: Observer, grace_s: float = 10.0
    ) -> None:
        self._fork = fork
        self._observer = observer
        self._grace_s = grace_s
        self._running: dict[int, int] = {}
        self._kill_at_s: float | None = None
        self._outcome = Outcome()

    def run(self, children: Sequence[int]) -> Outcome:
        """Returns when no child is left."""
        with SignalQueue() as signals:
            try:
                for child in children:
                    self._start(child)
                while self._running:
                    self._answer(signals.wait(_INTERVAL_S))
                    self._reap()
                    self._enforce_deadline()
                    self._observer.tick()
            finally:
                self._kill_all()
        return self._outcome

    def _start(self, child: int) -> None:
        pid = self._fork(child)
        self._running[pid] = child
        self._observer.started(child, pid)

    def _answer(self, numbers: list[int]) -> None:
        for number in numbers:
            if self._outcome.signal_number:
                self._send(signal.SIGKILL)  # asked twice: at once
            self._outcome.signal_number = self._outcome.signal_number or number
            self._stop()

    def _reap(self) -> None:
        for pid, child in list(self._running.items()):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                self._ended(child, pid, os.waitstatus_to_exitcode(status))

    def _ended(self, child: int, pid: int, exit_code: int) -> None:
        del self._running[pid]
        self._outcome.exit_codes[child] = exit_code
        self._observer.ended(child, pid, exit_code)
        if exit_code and not self._outcome.failed:
            if self._kill_at_s is None:
                self._outcome.failed = (child, exit_code)
            self._stop()

    def _stop(self) -> None:
        if self._kill_at_s is None:
            self._kill_at_s = time.monotonic() + self._grace_s
            self._send(signal.SIGTERM)
            if self._running:
                self._observer.stopping()

    def _enforce_deadline(self) -> None:
        if self._kill_at_s is not None and time.monotonic() > self._kill_at_s:
            self._send(signal.SIGKILL)

    def _send(self, number: int) -> None:
        for pid in self._running:
            os.kill(pid, number)

    def _kill_all(self) -> None:
        """Nobody is left behind, whatever went wrong in the loop."""
        self._send(signal.SIGKILL)
        for pid in self._running:
            os.waitpid(pid, 0)
        self._running.clear()
