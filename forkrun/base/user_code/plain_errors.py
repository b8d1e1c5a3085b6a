"""Uncaught errors of forkrun in a program: shown with the program's own lines, without those of
forkrun."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

from forkrun.errors import ForkrunError

_FORKRUN = Path(__file__).resolve().parents[2]


@functools.cache
def show_errors_plainly() -> None:
    """Shows uncaught errors of forkrun in this process without its frames; other errors as
    before."""
    show = sys.excepthook

    def show_plainly(kind: Any, error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, ForkrunError):
            trace = without_own(trace)
            error = error.with_traceback(trace)
            error.__suppress_context__ = True
        show(kind, error, trace)

    sys.excepthook = show_plainly


def without_own(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without forkrun's frames."""
    if trace is None:
        return None
    rest = without_own(trace.tb_next)
    if Path(trace.tb_frame.f_code.co_filename).is_relative_to(_FORKRUN):
        return rest
    return TracebackType(rest, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)
