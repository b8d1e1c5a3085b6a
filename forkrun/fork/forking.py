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
from typing import NamedTuple, NoReturn, TextIO

from forkrun import _core
from forkrun.base.durable import open_to_append


class Process(NamedTuple):
    """What a new process runs; it ends with the exit code that `body` returns. Its output goes to
    `log`."""

    body: Callable[[], int]
    log: Path


def fork_processes(processes: Sequence[Process]) -> list[int]:
    """Starts them, and gives their pids. Where they are more than CPUs, they begin together when
    all are there. Raises OSError; then none runs."""
    sys.stdout.flush()
    sys.stderr.flush()
    together = len(processes) > len(os.sched_getaffinity(0))
    logs = [str(process.log) for process in processes]  # here, not in every child
    streams = [_text_to(1), _text_to(2)]
    forked = _core.fork(len(processes), together)
    if isinstance(forked, int):
        _run(processes[forked].body, logs[forked], streams)
    return forked


def _text_to(descriptor: int) -> TextIO:
    return os.fdopen(descriptor, "w", buffering=1, encoding="utf-8", closefd=False)


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
    finally:  # whatever happens: a child must not go on as if it were the parent
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):
                stream.flush()
        os._exit(code)


def _settle(log: str, streams: Sequence[TextIO]) -> None:
    """Separates a new child from its parent: it neither wakes it nor writes to its terminal."""
    signal.set_wakeup_fd(-1)
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
