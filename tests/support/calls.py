"""Counts of Python calls: how much more a larger job does, whatever the machine does beside."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def n_calls(work: Callable[[], Any]) -> int:
    """Calls of Python functions that a function makes, C functions among them."""
    n = 0

    def count(_frame: FrameType, event: str, _arg: Any) -> None:
        nonlocal n
        n += event in ("call", "c_call")

    before = sys.getprofile()
    gc.disable()  # its callbacks come when they will
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
        gc.enable()
    return n
