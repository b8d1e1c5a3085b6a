"""Preparation of the parent's memory before it forks, so that children keep sharing it.

A page is shared until a process writes to it, and Python writes where a program only reads: it
counts references inside the objects, its garbage collector links them into lists, and its allocator
fills the holes between them. docs/memory.md has the measurements of every step."""

from __future__ import annotations

import contextlib
import gc
import importlib
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from msgspec import Struct

from forkrun import _core
from forkrun.base.quantities import plural, size

WORTH_A_WARNING_BYTES = 10_000_000
# Joining 1 GB of pages takes 0.3 s or more; every fork of 1 GB is then 20 to 40 ms shorter.
WORTH_JOINING_BYTES = 256_000_000
WORTH_JOINING_CHILDREN = 16


class MemorySettings(Protocol):
    """Steps to take, as in the section [memory] of a configuration."""

    @property
    def immortal(self) -> bool: ...
    @property
    def freeze(self) -> bool: ...
    @property
    def fill_holes(self) -> bool: ...
    @property
    def huge_pages(self) -> bool | None: ...


class PreparedMemory(Struct, frozen=True):
    """Steps that were taken. Of Python objects: those that conditions and modules hold, and the
    bytes of their blocks; `immortal`: whether reading them keeps them shared."""

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
            f"warning: conditions and modules hold {plural(self.n_objects, 'Python object')}; every"
            f" child that reads them copies up to {size(self.n_object_bytes)}, because"
            f" {_reason()}; NumPy arrays are shared with any Python"
        )


def _reason() -> str:
    if _core.HAS_IMMORTAL_OBJECTS:
        return "memory.immortal is false"
    version = platform.python_version()
    return f"Python {version} counts references inside objects; Python 3.12 or newer shares them"


def expect_objects(settings: MemorySettings) -> None:
    """Prepares for modules and conditions, before they are made: where their objects lie decides
    what a fork costs."""
    if settings.huge_pages is not False:
        _core.use_huge_arenas()


def prepare_memory(
    settings: MemorySettings, shared: Sequence[object], n_children: int
) -> PreparedMemory:
    """Prepares memory, last of all before the fork. `shared`: what children will read, with all
    that it refers to. Afterwards the garbage collector is off; a child may turn it on again."""
    importlib.invalidate_caches()  # importlib.metadata drops its own in every child
    gc.collect()
    gc.disable()
    immortal = settings.immortal and _core.HAS_IMMORTAL_OBJECTS
    n_objects, n_bytes = (_core.make_immortal if immortal else _core.count_objects)(list(shared))
    if immortal:
        _core.make_program_immortal()
    if settings.fill_holes:
        _core.trim_heap()
        _core.take_free_blocks()
    joined = _core.join_pages() if _wants_huge_pages(settings, n_children) else 0
    _core.use_ordinary_arenas()
    if settings.freeze:
        gc.freeze()
    return PreparedMemory(n_objects, n_bytes, immortal, joined)


def use_ordinary_pages() -> None:
    """In a child: arrays of NumPy that are made from here on lie in ordinary pages. A block uses
    the memory of the one before, so huge pages, for which NumPy asks, would spare few faults."""
    core: Any = np._core if hasattr(np, "_core") else np.core
    with contextlib.suppress(AttributeError):  # NumPy may call it otherwise one day
        core.multiarray._set_madvise_hugepage(False)


def _wants_huge_pages(settings: MemorySettings, n_children: int) -> bool:
    if settings.huge_pages is not None:
        return settings.huge_pages
    return n_children >= WORTH_JOINING_CHILDREN and _bytes_to_join() >= WORTH_JOINING_BYTES


def _bytes_to_join() -> int:
    """Memory of this process that is not of a file, and not in huge pages."""
    _header, *lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    fields = dict(line.split(":") for line in lines)
    own, joined = (int(fields[name].split()[0]) for name in ("Anonymous", "AnonHugePages"))
    return 1024 * (own - joined)
