"""The only place that forks."""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TextIO

from forkrun import _core
from forkrun.base.durable import open_to_append
from forkrun.base.streams import open_standard_descriptors, stream_of_log
from forkrun.fork.command import end_with_parent
from forkrun.fork.signals import STOP_SIGNALS, own_fork


class Process(NamedTuple):
    """Body of a new process; it ends with the exit code that `body` returns. Its output goes to
    `log`."""

    body: Callable[[], int]
    log: Path


def fork_processes(processes: Sequence[Process]) -> list[int]:
    """Starts them, and gives their pids. Where they are more than CPUs, they begin together when
    all are there. Raises OSError; then none runs."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        with contextlib.suppress(OSError, ValueError):  # nobody listens
            stream.flush()
    open_standard_descriptors()
    together = len(processes) > len(os.sched_getaffinity(0))
    logs = [str(process.log) for process in processes]  # here, not in every child
    streams = [stream_of_log(1), stream_of_log(2)]
    with own_fork():
        forked = _core.fork(len(processes), together)
    if isinstance(forked, int):
        _run(processes[forked].body, logs[forked], streams)
    return forked


def _run(body: Callable[[], int], log: str, streams: Sequence[TextIO]) -> NoReturn:
    code, has_log = 1, False
    try:
        _settle(log, streams)
        has_log = True
        code = body()
    except BaseException as error:
        with contextlib.suppress(OSError):
            if has_log:
                traceback.print_exc()
            else:  # the terminal is for people
                print(f"forkrun: {log}: cannot be opened: {error}", file=sys.stderr)
    finally:  # in any case: a child must not continue as if it were the parent
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)


def _settle(log: str, streams: Sequence[TextIO]) -> None:
    """Separates a new child from its parent: it neither wakes it nor writes to its terminal."""
    fd = open_to_append(log)
    null = os.open(os.devnull, os.O_RDONLY)
    for target, source in ((0, null), (1, fd), (2, fd)):
        os.dup2(source, target)
    os.close(fd)
    os.close(null)
    sys.stdout, sys.stderr = streams
    faulthandler.disable()  # the handlers that it believes in place were left at the fork
    faulthandler.enable(2)
    gc.enable()


def fork_copy() -> int:
    """Forks a copy of this process that keeps its terminal and ends with it. Gives its pid, 0 in
    the copy."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    if pid := os.fork():
        return pid
    end_with_parent()
    return 0


def wait_for_copy(pid: int) -> int:
    """The exit code of a copy, which gets signals to this process; one that ends it ends this one,
    too."""

    def forward(number: int, _: Any) -> None:
        if number != signal.SIGINT or not _is_in_foreground():  # a terminal sends it to both
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    heard = [n for n in STOP_SIGNALS if signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.signal(number, forward) for number in heard}
    try:
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if code < 0:
        with contextlib.suppress(OSError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


def _is_in_foreground() -> bool:
    with contextlib.suppress(OSError), open("/dev/tty") as terminal:
        return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    return False
