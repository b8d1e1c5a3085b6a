"""How files of LCIO hold new columns: one value per event is a parameter of the event, a list a
collection of vectors."""

from __future__ import annotations

import re

from forkrun.formats.column_types import ColumnType

PARAMETERS = "parameters"
"""Before the point, in names of columns that are parameters of events."""
RUN_HEADER = "RunHeader"
"""The same of what the header of the run says."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_STORED = {
    "bool", "int8", "int16", "int32", "uint8", "uint16", "float32", "float64", "string",
}  # fmt: skip
"""Types of columns that LCIO has: no integers of 8 bytes, none of 4 without a sign."""


def problem_of(name: str, kind: str) -> str:
    """Why a column cannot be in a file of LCIO; "" if it can."""
    type_ = ColumnType.of(kind)
    n_lists = type_.n_levels - type_.is_text
    if type_.element not in _STORED:
        return (
            f'"{name}" is {kind}; LCIO has int32, float32, float64 and texts: make it one of these'
        )
    if n_lists > 2 or (n_lists == 2 and type_.is_text) or (n_lists and type_.dimensions):
        return (
            f'"{name}" is {kind}; LCIO has lists and lists of lists of numbers, and lists of texts'
        )
    if n_lists and not _NAME.fullmatch(name):
        return (
            f'"{name}" cannot be the name of a collection: these have letters, digits and _,'
            " 64 of them at most"
        )
    return ""
