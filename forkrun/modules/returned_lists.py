"""Columns of lists within lists, texts and arrays of fixed size that a user's method returned."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from forkrun.base.awkward_array import ak, is_awkward, with_none
from forkrun.base.notes import note
from forkrun.formats.column_types import ColumnType
from forkrun.formats.plain import Plain
from forkrun.modules.columns import MISSING
from forkrun.modules.missing_values import filled, is_optional, leaf_type


def plain_of(where: str, kind: ColumnType, column: Any) -> Plain:
    """A column of this type as offsets and values. Raises TypeError if it is of another form."""
    array = ak.Array(column)
    layout = ak.to_packed(array).layout
    offsets = []
    for level in range(kind.n_levels):
        layout = _without_none(where, layout)
        is_last_of_text = kind.is_text and level + 1 == kind.n_levels
        if not layout.is_list or _is_text(layout) != is_last_of_text:
            raise TypeError(f"{where}: wanted {kind} for each event, got {array.type}")
        layout = layout.to_ListOffsetArray64(True)
        offsets.append(np.asarray(layout.offsets, dtype=np.int64))
        layout = layout.content[: offsets[-1][-1]]
    return (*offsets, _values(where, kind, layout)) if offsets else _values(where, kind, layout)


def _values(where: str, kind: ColumnType, layout: Any) -> npt.NDArray[Any]:
    """(n, *kind.dimensions)"""
    if kind.is_text:
        return np.ascontiguousarray(layout.data, dtype=np.uint8).view("S1")
    layout = _without_none(where, layout)
    if layout.is_unknown:  # of empty lists alone
        return np.empty((0, *kind.dimensions), kind.dtype)
    try:
        values = np.asarray(ak.to_numpy(ak.Array(layout), allow_missing=False))
    except ValueError:
        values = np.empty(0, dtype=object)
    if values.shape[1:] != kind.dimensions or values.dtype.kind == "O":
        raise TypeError(f"{where}: wanted {kind} for each event, got {ak.Array(layout).type}")
    return values


def _without_none(where: str, layout: Any) -> Any:
    if not layout.is_option:
        return layout
    array = ak.Array(layout)
    if n := int(ak.sum(ak.is_none(array))):
        raise TypeError(
            f"{where} has None for {n} of {len(array)}; take ak.fill_none(…, 0) or ak.drop_none(…)"
        )
    return ak.to_packed(ak.drop_none(array, axis=0)).layout


def nan_for_none(where: str, column: Any) -> Any:
    """Missing floating-point numbers as MISSING, a NaN; anything else as it is. Where all are
    missing, they may be floating-point numbers."""
    if not is_awkward(column) or not is_optional(column):
        return column
    leaf = leaf_type(column.layout)
    if leaf is None and _is_unknown(column.layout):
        return ak.values_astype(ak.fill_none(column, MISSING, axis=-1), np.float64)
    if leaf is None or leaf.kind != "f":
        return column
    if ak.any(ak.is_none(column, axis=-1), axis=None):
        note(
            f"{where} has None for some events: NaN was written; fill_none(…) says what to write"
            " instead"
        )
    return filled(column, MISSING)


def _is_unknown(layout: Any) -> bool:
    while layout.is_list or layout.is_option:
        layout = layout.content
    return bool(layout.is_unknown)


def _is_text(layout: Any) -> bool:
    return layout.parameter("__array__") in ("string", "bytestring")


def column_type(name: str, values: Any) -> str:
    """The type that a column of these values has: "float32[]" or the like. Raises TypeError if it
    is none that a column can have."""
    if type(values) is np.ndarray and values.ndim == 1 and values.dtype.kind in "biuf":
        kind = ColumnType(values.dtype.name, 0, ())
        if kind.is_possible:
            return str(kind)
    array = nan_for_none(f"column {name!r}", ak.Array(with_none(values)))
    if array.fields:
        raise TypeError(f"column {name!r}: these are records; give each field as a column")
    kind = _type_of(name, array.type.content)
    if not kind.is_possible:
        raise TypeError(
            f"column {name!r}: {array.type.content} is not a column type; there are numbers,"
            " texts, arrays of fixed size, lists of them, and up to six lists within each other"
        )
    return str(kind)


def _type_of(name: str, kind: Any) -> ColumnType:
    if isinstance(kind, ak.types.OptionType):
        raise TypeError(
            f"column {name!r} has missing values (None), which only floating-point numbers may be:"
            " take ak.fill_none(…, 0)"
        )
    if isinstance(kind, ak.types.NumpyType):
        return ColumnType(kind.primitive, 0, ())
    if isinstance(kind, ak.types.UnknownType):
        return ColumnType("float64", 0, ())
    if not isinstance(kind, ak.types.ListType | ak.types.RegularType):
        return ColumnType(str(kind), 0, ())
    if kind.parameters.get("__array__") in ("string", "bytestring"):
        return ColumnType("string", 1, ())
    content = _type_of(name, kind.content)
    if isinstance(kind, ak.types.RegularType) and not content.n_levels:
        return ColumnType(content.element, 0, (kind.size, *content.dimensions))
    return ColumnType(content.element, content.n_levels + 1, content.dimensions)
