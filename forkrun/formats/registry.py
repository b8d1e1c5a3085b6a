"""The formats there are: trees of ROOT, and what installed packages add as entry points of the
group `forkrun.formats`, each of which gives an instance of `Format`."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

from forkrun.errors import ConfigError
from forkrun.formats.format import Format
from forkrun.formats.ttree import TTREE

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "forkrun.formats"
_MAGIC = b"root"


def format_of(path: str) -> Format:
    """The format of a file, which need not be there. It is opened to read its first bytes; what
    nobody knows is taken for a file of ROOT, whose reader says what is wrong with it."""
    if "://" in path or _begins_with_magic(path):
        return TTREE
    return next((format_named(name) for name in _added() if _loaded(name).is_of(path)), TTREE)


def format_named(name: str) -> Format:
    """The format of this name. Raises ConfigError."""
    if name == TTREE.name:
        return TTREE
    if name not in _added():
        known = ", ".join([TTREE.name, *_added()])
        raise ConfigError(f'unknown format "{name}"; the formats are {known}')
    return _loaded(name)


def _begins_with_magic(path: str) -> bool:
    """Also where it cannot be read: ROOT's reader says why. A pipe without a writer is not waited
    for."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return True
    try:
        return os.read(descriptor, len(_MAGIC)) in (_MAGIC, b"")
    except OSError:
        return True
    finally:
        os.close(descriptor)


@cache
def _added() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # takes 20 ms, and is rarely needed

    return {entry.name: entry for entry in entry_points(group=GROUP)}


@cache
def _loaded(name: str) -> Format:
    loaded = _added()[name].load()
    made: Format = loaded() if isinstance(loaded, type) else loaded
    return made
