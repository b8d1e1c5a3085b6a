"""Values of new columns, as bytes in files of LCIO."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec import Struct

from forkrun.errors import OutputError
from forkrun.formats.lcio_bytes import block, parameters, text
from forkrun.formats.lcio_columns import OBJECTS, NewColumn
from forkrun.formats.plain import Plain, inner_of

_NO_TAG = struct.pack(">I", 0xFFFFFFFF)


class Additions(Struct, frozen=True):
    """What each of some events gets: `blocks`, `parameters` (name, type, bytes or texts) of each,
    and `collections` (name, type) of all."""

    collections: list[tuple[str, str]]
    blocks: list[bytes]
    parameters: list[list[tuple[str, str, Any]]]

    def of_event(self, i: int) -> tuple[list[tuple[str, str]], bytes, list[tuple[str, str, Any]]]:
        """Those of the event with this number among them."""
        if not self.blocks:
            return [], b"", []
        return self.collections, self.blocks[i], self.parameters[i]


def additions(products: Sequence[tuple[str, str]], columns: Mapping[str, Plain]) -> Additions:
    """What consecutive events get. `products`: names and types; `columns`: their values. Raises
    OutputError."""
    new = [NewColumn.of(name, kind) for name, kind in products]
    values = [_values(each, columns[each.name]) for each in new]
    n_events = len(values[0]) if values else 0
    return Additions(
        [(each.name, each.kind) for each in new if each.kind],
        [
            b"".join(_block(n, of[i]) for n, of in zip(new, values, strict=True) if n.kind)
            for i in range(n_events)
        ],
        [
            [_parameter(n, of[i]) for n, of in zip(new, values, strict=True) if not n.kind]
            for i in range(n_events)
        ],
    )


def _values(of: NewColumn, column: Plain) -> list[Any]:
    """Values of each event: array of values, text, list of texts or list of arrays."""
    if of.element == "string":
        return _nested(column, lambda characters: characters.tobytes().decode())
    stored = np.dtype(of.element).newbyteorder(">")
    return _nested(column, lambda values: values.astype(stored))


def _nested(column: Plain, leaf: Any) -> list[Any]:
    if not isinstance(column, tuple):
        return [leaf(np.atleast_1d(each).ravel()) for each in column]
    inner, borders = inner_of(column), column[0].tolist()
    if not isinstance(inner, tuple):
        return [leaf(inner[a:b]) for a, b in pairwise(borders)]
    items = _nested(inner, leaf)
    return [items[a:b] for a, b in pairwise(borders)]


def _parameter(of: NewColumn, value: Any) -> tuple[str, str, Any]:
    return of.name, of.element, [value] if of.element == "string" else value.tobytes()


def _block(of: NewColumn, value: Any) -> bytes:
    """A collection with one vector, or one for each inner list."""
    vectors = value if of.is_list_of_lists else [value]
    content = struct.pack(">I", 0) + parameters({}) + struct.pack(">i", len(vectors))
    return block(of.name, content + b"".join(_object(of, each) for each in vectors))


def _object(of: NewColumn, value: Any) -> bytes:
    data: bytes = b"".join(map(text, value)) if of.element == "string" else value.tobytes()
    counts = (0, 0, len(value)) if of.kind == OBJECTS else (len(value),)
    return struct.pack(f">{len(counts)}i", *counts) + data + _NO_TAG


def refuse_names(path: str, names: Sequence[str], found: Sequence[str]) -> None:
    """Raises OutputError where a file has a collection under the name of a new one."""
    if both := set(names) & set(found):
        raise OutputError(
            f'{path}: it has a collection "{min(both)}", and so has the output as a new one;'
            " rename the column"
        )
