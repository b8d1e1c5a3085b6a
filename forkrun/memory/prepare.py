"""What the parent does with its memory before it forks, so that children go on sharing it.

A page is shared until somebody writes to it, and Python writes where a program only reads: it counts
references inside the objects, its garbage collector links them into lists, and its allocator fills
the holes between them. docs/memory.md has the measurements behind every step."""

from __future__ import annotations

import gc
import platform
from collections.abc import Sequence
from dataclasses import dataclass

from forkrun import _core
from forkrun.config import MemoryConfig

WORTH_A_WARNING_BYTES = 10_000_000


@dataclass(frozen=True)
class PreparedMemory:
    """What was done. Of Python objects: those that conditions and modules hold, and the bytes of
    their blocks; `immortal`: whether reading them keeps them shared."""

    n_objects: int
    n_object_bytes: int
    immortal: bool
    huge_page_bytes: int

    def warning(self) -> str | None:
        """The consequence of a Python that cannot keep objects shared; None where it can, or where
        they are few."""
        if self.immortal or self.n_object_bytes < WORTH_A_WARNING_BYTES:
            return None
        return (
            f"warning: conditions and modules hold {self.n_objects:,} Python objects; every child"
            f" that reads them copies up to {self.n_object_bytes / 1e6:,.0f} MB, because"
            f" {_reason()}; NumPy arrays are shared with any Python"
        )


def _reason() -> str:
    if _core.HAS_IMMORTAL_OBJECTS:
        return "memory.immortal is false"
    version = platform.python_version()
    return f"Python {version} counts references inside objects; Python 3.12 or newer shares them"


def prepare_memory(settings: MemoryConfig, shared: Sequence[object]) -> PreparedMemory:
    """The last thing before the fork. `shared`: what children will read, and all that it refers to.
    Afterwards the garbage collector is off; a child may turn it on again."""
    gc.collect()
    gc.disable()
    immortal = settings.immortal and _core.HAS_IMMORTAL_OBJECTS
    n_objects, n_bytes = (_core.make_immortal if immortal else _core.count_objects)(list(shared))
    if settings.fill_holes:
        _core.trim_heap()
        _core.take_free_blocks()
    joined = _core.join_pages() if settings.huge_pages else 0
    if settings.freeze:
        gc.freeze()
    return PreparedMemory(n_objects, n_bytes, immortal, joined)
