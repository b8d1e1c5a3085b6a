"""What keeps imports cheap, which are most of what a small job costs."""

from __future__ import annotations

import contextlib
import gc
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

_PLUGINS = "pydantic.plugin._loader"
"""What pydantic imports each time it makes a validator, and asks for plugins."""


def names_on_demand(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """`__getattr__` of a package whose names are imported when they are first used. `homes`: the
    modules that have them."""
    home_of = {name: home for home, names in homes.items() for name in names}

    def imported(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(home_of[name]), name)

    return imported


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Pauses the garbage collector while many lasting objects are made, which it never looks at: it
    would find next to nothing, and take a sixth of the time of importing a large package. Does
    nothing where it is off."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.freeze()


@contextlib.contextmanager
def without_plugins() -> Iterator[None]:
    """Surrounds what has pydantic make validators of forkrun's own: it would look for plugins in
    the metadata of all installed packages, which takes 20 ms, most of them to import what reads
    metadata; none is for them. Models of users have theirs."""
    if _PLUGINS in sys.modules:
        yield
        return
    sys.modules[_PLUGINS] = stand_in = ModuleType(_PLUGINS)
    stand_in.__dict__["get_plugins"] = tuple
    try:
        yield
    finally:
        del sys.modules[_PLUGINS]
