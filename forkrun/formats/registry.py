"""All formats: ROOT trees and RNTuples, LCIO, Parquet for outputs, and formats of installed
packages, which register instances of `Format` as entry points of the group `forkrun.formats`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from forkrun.errors import ConfigError
from forkrun.formats.format import Format
from forkrun.formats.lcio import LCIO
from forkrun.formats.parquet import PARQUET
from forkrun.formats.rntuple import RNTUPLE
from forkrun.formats.ttree import TTREE

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "forkrun.formats"
_OWN: dict[str, Format] = {form.name: form for form in (TTREE, RNTUPLE, LCIO, PARQUET)}


def format_of(path: str) -> Format:
    """Format of a file, which need not exist; that of trees for RNTuples, which the index tells
    apart. Files of unknown format count as ROOT files, whose reader explains what is wrong."""
    own = (LCIO, TTREE) if "://" in path else (TTREE, LCIO)  # for URLs, only the name tells
    for form in own:
        if form.is_of(path):
            return form
    return next((form for form in map(_loaded, _added()) if form.is_of(path)), TTREE)


def format_named(name: str) -> Format:
    """The format with this name. Raises ConfigError."""
    if name in _OWN:
        return _OWN[name]
    if name not in _added():
        known = ", ".join([*_OWN, *_added()])
        raise ConfigError(f'unknown format "{name}"; the formats are {known}')
    return _loaded(name)


@cache
def _added() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # takes 20 ms, and is rarely needed

    return {entry.name: entry for entry in entry_points(group=GROUP)}


@cache
def _loaded(name: str) -> Format:
    loaded = _added()[name].load()
    made: Format = loaded() if isinstance(loaded, type) else loaded
    return made
