"""Formats of input and output files. Rooms above this one know none of them."""

from __future__ import annotations

from forkrun.formats.described import OTHER, Described
from forkrun.formats.events import EventSource, OutputToMake
from forkrun.formats.format import Format
from forkrun.formats.registry import format_named, format_of

__all__ = [
    "OTHER",
    "Described",
    "EventSource",
    "Format",
    "OutputToMake",
    "format_named",
    "format_of",
]
