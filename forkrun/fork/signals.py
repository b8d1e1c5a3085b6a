"""Signals as a queue: a handler does nothing; the signal's number waits to be read."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LUMI_SIGNALS = (signal.SIGUSR1, signal.SIGUSR2)
_TO_COPIES = (*STOP_SIGNALS, *LUMI_SIGNALS)
PYTHON_STACKS = signal.SIGRTMIN + 4
"""A child that gets it writes the Python stacks of all its threads to its log."""


class _Handlers:
    """One handler for these signals, and a pipe that gets their numbers, until `restore`. They come
    also if they were blocked when this process began. For the main thread."""

    def __init__(self, numbers: Iterable[int], handler: Callable[[int, Any], None]) -> None:
        self.read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._wakeup = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, handler) for number in numbers}
        self.mask_before = signal.pthread_sigmask(signal.SIG_UNBLOCK, self._before)
        in_place.append(self)

    def pending(self) -> bytes:
        """Numbers that came since the last call."""
        try:
            return os.read(self.read, 4096)
        except BlockingIOError:
            return b""

    def restore(self) -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, self.mask_before)
        self.leave()

    def leave(self) -> None:
        """Restores the handlers alone."""
        in_place.remove(self)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup)
        os.close(self.read)
        os.close(self._write)


in_place: list[_Handlers] = []
"""Handlers of this process; the last ones last."""


def _restore_in_copy() -> None:
    """In a process that a module has forked, with `multiprocessing` or by itself: a signal to it is
    none to this one, whose pipe it has too, and has the effect that it has anywhere."""
    mask = _held.pop()
    if _is_own_fork:
        signal.set_wakeup_fd(-1)
        in_place.clear()  # the core has done what a child does about signals
        return
    while in_place:
        mask = set(in_place[-1].mask_before)
        in_place[-1].leave()
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


_is_own_fork = False


@contextlib.contextmanager
def own_fork() -> Iterator[None]:
    """While this process forks a child of its own, rather than a module a copy of it."""
    global _is_own_fork
    _is_own_fork = True
    try:
        yield
    finally:
        _is_own_fork = False


_held: list[set[int]] = []
"""Signals that were blocked before a fork that has begun."""


def _hold() -> None:
    """A signal to a copy waits until it can have its effect."""
    _held.append(set(signal.pthread_sigmask(signal.SIG_BLOCK, _TO_COPIES if in_place else ())))


def _release() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, _held.pop())


os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_restore_in_copy)


class SignalQueue:
    """While open, these signals and ends of children are queued. For the main thread."""

    def __init__(self, numbers: Sequence[signal.Signals] = STOP_SIGNALS) -> None:
        self._numbers = numbers

    def __enter__(self) -> SignalQueue:
        # `nohup forkrun …` continues after a hang-up.
        wanted = [n for n in self._numbers if signal.getsignal(n) is not signal.SIG_IGN]
        self._handlers = _Handlers((*wanted, signal.SIGCHLD), _do_nothing)
        return self

    def __exit__(self, *_: object) -> None:
        self._handlers.restore()

    def wait(self, timeout_s: float) -> list[int]:
        """Numbers that came, at once if there are some, else within `timeout_s`. SIGCHLD only ends
        the wait."""
        select.select([self._handlers.read], [], [], timeout_s)
        return [number for number in self._handlers.pending() if number != signal.SIGCHLD]


def _do_nothing(_number: int, _frame: object) -> None:
    """Handler that does nothing: the wakeup descriptor has the number already."""


class StopFlag:
    """Notes that a stop was asked for: nothing new is begun. `number`: the signal, 0 if none. Only
    the main thread can be asked; while it is busy in C++, `poll` notes it from any thread."""

    def __init__(self, then: Callable[[], None], *numbers: int) -> None:
        """`then` is called when it happens."""
        self.number = 0
        self._then = then
        self._numbers = numbers
        is_main = threading.current_thread() is threading.main_thread()
        self._handlers = _Handlers(numbers, self._note) if is_main else None

    def _note(self, number: int, _frame: object) -> None:
        self.number = number
        self._then()

    def poll(self) -> None:
        """Notes a signal that has arrived and whose handler has not run yet."""
        for number in self._handlers.pending() if self._handlers else b"":
            if number in self._numbers:
                self._note(number, None)

    def restore(self) -> None:
        """Restores the handlers from before."""
        if self._handlers:
            self._handlers.restore()
