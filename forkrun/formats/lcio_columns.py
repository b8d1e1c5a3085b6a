"""How files of LCIO hold new columns: one value per event is a parameter of the event, a list a
collection of vectors."""

from __future__ import annotations

import re

from msgspec import Struct

from forkrun.formats.column_types import ColumnType

PARAMETERS = "parameters"
"""Before the point, in names of columns that are parameters of events."""
RUN_HEADER = "RunHeader"
"""The same of what the header of the run says."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_STORED = {
    "bool": "int32", "int8": "int32", "int16": "int32", "int32": "int32", "uint8": "int32",
    "uint16": "int32", "float32": "float32", "float64": "float64", "string": "string",
}  # fmt: skip
"""What LCIO has of the types of columns: no integers of 8 bytes, none of 4 without a sign."""
_VECTORS = {"int32": "LCIntVec", "float32": "LCFloatVec", "string": "LCStrVec"}
OBJECTS = "LCGenericObject"


class NewColumn(Struct, frozen=True):
    """How a column is stored. `kind`: type of the collection, "": it is a parameter; `element`:
    type of its values."""

    name: str
    element: str
    kind: str
    is_list_of_lists: bool

    @classmethod
    def of(cls, name: str, kind: str) -> NewColumn:
        """The one of this type, which `problem_of` has nothing against."""
        type_ = ColumnType.of(kind)
        element = _STORED[type_.element]
        n_lists = type_.n_levels - type_.is_text
        collection = _VECTORS.get(element, OBJECTS) if n_lists else ""
        return cls(name, element, collection, n_lists == 2)


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
