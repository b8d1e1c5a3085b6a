"""Workers of `forkrun.fork.helper` in forks of a process that has imported what they need, which a
clean Python would do for a tenth of a second each time."""

from __future__ import annotations

import contextlib
import importlib
import os
import select
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

Begin = Callable[[str, int, int, int, int], None]
"""Has a keeper begin: the module, its input, output and stderr, and where its status is written."""


class ForkedWorker:
    """What helper.py uses of a `subprocess.Popen`."""

    def __init__(self, module: str, errors: int) -> None:
        read_in, write_in = os.pipe()
        read_out, write_out = os.pipe()
        self._exit_code: int | None = None
        self.pid = self._begin(module, read_in, write_out, errors)
        os.close(read_in)
        os.close(write_out)
        self.stdin = os.fdopen(write_in, "wb")
        self.stdout = os.fdopen(read_out, "rb")

    def _begin(self, module: str, read_in: int, write_out: int, errors: int) -> int:
        pid = os.fork()
        if pid == 0:
            _take_streams(read_in, write_out, errors)
            _work(module)
        return pid

    def poll(self) -> int | None:
        """Its exit code, None while it runs."""
        if self._exit_code is None:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            self._exit_code = os.waitstatus_to_exitcode(status) if done else None
        return self._exit_code

    def wait(self) -> int:
        """Its exit code, when it has ended."""
        if self._exit_code is None:
            self._exit_code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._exit_code

    def kill(self) -> None:
        """Kills it, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def communicate(self) -> None:
        """Waits for its end after that of its input."""
        with contextlib.suppress(BrokenPipeError):  # it has died with a request unread
            self.stdin.close()
        self.stdout.close()
        self.wait()


class KeptWorker(ForkedWorker):
    """One that is no child of this process, which may have threads: another process, the keeper,
    forks it and waits for it."""

    def __init__(self, module: str, errors: int, begin: Begin) -> None:
        self._have_begin = begin
        super().__init__(module, errors)

    def _begin(self, module: str, read_in: int, write_out: int, errors: int) -> int:
        read_status, write_status = os.pipe()
        self._have_begin(module, read_in, write_out, errors, write_status)
        os.close(write_status)
        self._status = os.fdopen(read_status)
        return int(self._status.readline())

    def poll(self) -> int | None:
        """Its exit code, None while it runs."""
        is_over = self._exit_code is not None or select.select([self._status], [], [], 0)[0]
        return self.wait() if is_over else None

    def wait(self) -> int:
        """Its exit code, when it has ended."""
        if self._exit_code is None:
            self._exit_code = int(self._status.readline() or -signal.SIGKILL)
            self._status.close()
        return self._exit_code


def keep(module: str, read_in: int, write_out: int, errors: int, write_status: int) -> NoReturn:
    """Starts the worker, and writes its number and its exit code."""
    nothing = os.open(os.devnull, os.O_RDWR)
    _take_streams(read_in, write_out, errors)
    pid = os.fork()
    if pid == 0:
        _work(module)
    os.dup2(write_status, 3)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    os.closerange(4, 4096)
    os.write(3, f"{pid}\n".encode())
    _, status = os.waitpid(pid, 0)
    os.write(3, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _take_streams(*streams: int) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)


def _work(module: str) -> NoReturn:
    from forkrun.fork.helper import serve

    os.closerange(3, 4096)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    signal.set_wakeup_fd(-1)
    sys.stdin = os.fdopen(0)
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    serve(importlib.import_module(module).answer)
    os._exit(0)
