"""The only place that forks."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from forkrun.signals import LUMI_SIGNALS, STOP_SIGNALS

_PR_SET_PDEATHSIG = 1
# ROOT answers them with its own traceback and SIGABRT, which would hide what happened.
_CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)


def fork_process(body: Callable[[], int], log: Path) -> int:
    """Runs `body` in a child whose output goes to `log`; it ends with the code that `body` returns.
    Gives the pid, in the parent."""
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        _settle(parent, log)
        code = body()
    except BaseException:
        with contextlib.suppress(OSError):
            traceback.print_exc()
    finally:  # whatever happens: a child must not go on as if it were the parent
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):
                stream.flush()
        os._exit(code)


def _settle(parent: int, log: Path) -> None:
    """No child outlives its parent, answers to the parent's signals or writes to its terminal."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, *_CRASHES):
        signal.signal(number, signal.SIG_DFL)
    for number in (*STOP_SIGNALS, *LUMI_SIGNALS):  # for the parent: it tells its children
        signal.signal(number, signal.SIG_IGN)
    fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    null = os.open(os.devnull, os.O_RDONLY)
    for target, source in ((0, null), (1, fd), (2, fd)):
        os.dup2(source, target)
    os.close(fd)
    os.close(null)
    sys.stdout = os.fdopen(1, "w", buffering=1, encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", closefd=False)
    faulthandler.enable(sys.stderr)
    gc.enable()
