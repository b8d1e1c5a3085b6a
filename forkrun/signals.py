"""Signals as a queue: a handler does nothing, its number waits to be read."""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LUMI_SIGNALS = (signal.SIGUSR1, signal.SIGUSR2)


class SignalQueue:
    """While open, these signals and ends of children are queued, also those that were blocked when
    this process began. For the main thread."""

    def __init__(self, numbers: Sequence[signal.Signals] = STOP_SIGNALS) -> None:
        self._numbers = numbers
        self._before: dict[int, Any] = {}

    def __enter__(self) -> SignalQueue:
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._wakeup = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for number in (*self._numbers, signal.SIGCHLD):
            if number == signal.SIGCHLD or not _ignored(number):
                self._before[number] = signal.signal(number, _do_nothing)
        self._mask = signal.pthread_sigmask(signal.SIG_UNBLOCK, self._before)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup)
        os.close(self._read)
        os.close(self._write)

    def wait(self, timeout_s: float) -> list[int]:
        """Numbers that came, at once if there are some, else within `timeout_s`. SIGCHLD only ends
        the wait."""
        select.select([self._read], [], [], timeout_s)
        try:
            numbers = os.read(self._read, 4096)
        except BlockingIOError:
            return []
        return [number for number in numbers if number != signal.SIGCHLD]


def _do_nothing(_number: int, _frame: object) -> None:
    """The wakeup descriptor has the number already."""


def _ignored(number: int) -> bool:
    """As whoever started this process wished: `nohup forkrun …` goes on after a hang-up."""
    return signal.getsignal(number) is signal.SIG_IGN


class StopFlag:
    """Notes that a stop was asked for: nothing new is begun. `number`: the signal, 0 if none. Only
    the main thread can be asked; while it is busy in C++, `look` notes it from any thread."""

    def __init__(self, then: Callable[[], None], *numbers: int) -> None:
        """`then` is called when it happens."""
        self.number = 0
        self._then = then
        self._before: dict[int, Any] = {}
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        if threading.current_thread() is threading.main_thread():
            self._wakeup = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
            self._before = {number: signal.signal(number, self._note) for number in numbers}
            self._mask = signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)

    def _note(self, number: int, _frame: object) -> None:
        self.number = number
        self._then()

    def look(self) -> None:
        """Whether a signal has come that its handler has not told of yet."""
        try:
            numbers = os.read(self._read, 4096)
        except BlockingIOError:
            return
        for number in numbers:
            if number in self._before:
                self._note(number, None)

    def restore(self) -> None:
        """Back to the handlers before."""
        if self._before:
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
            for number, handler in self._before.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(self._wakeup)
        os.close(self._read)
        os.close(self._write)
