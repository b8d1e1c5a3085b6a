"""Columns as users see them, and as offsets and values.

A plain column is in the form of the core: values (n_events, …), or (offsets, values) for lists,
(offsets, offsets, values) for lists of lists, and so on. Offsets are int64 and begin with 0. A text
is a list of characters, "S1"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from forkrun.base.awkward_array import ak
from forkrun.formats.plain import Plain, inner_of

_MISSING: Mapping[int, np.generic] = {4: np.uint32(0x7FE00000), 8: np.uint64(0x7FFC000000000000)}
"""Bits of a missing number by the size of its type: the one NaN that stands for None in columns
made by modules in Python, also after conversion to the other type."""
MISSING = np.array([_MISSING[8]]).view(np.float64)[0]


def as_array(plain: Plain, may_lack: bool = False) -> Any:
    """A NumPy array for one number, or one array of fixed size, per event; else an Awkward Array.
    Uses the memory of its argument. `may_lack`: MISSING becomes None, which makes the array
    Awkward's."""
    if may_lack and is_missing(plain[-1] if isinstance(plain, tuple) else plain).any():
        return ak.Array(known_layout(layout_of(plain)))
    return ak.Array(layout_of(plain)) if isinstance(plain, tuple) else plain


def is_missing(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Which values are MISSING."""
    bits = _MISSING.get(values.dtype.itemsize) if values.dtype.kind == "f" else None
    if bits is None:
        return np.zeros(values.shape, np.bool_)
    found: npt.NDArray[np.bool_] = np.ascontiguousarray(values).view(bits.dtype) == bits
    return found


def known_layout(layout: ak.contents.Content) -> ak.contents.Content:
    """The same layout with None for MISSING."""
    if layout.is_numpy and layout.data.ndim > 1:
        layout = layout.to_RegularArray()
    if layout.is_list:
        return layout.copy(content=known_layout(layout.content))
    lacks = is_missing(np.asarray(layout.data)) if layout.is_numpy else np.zeros(0, np.bool_)
    if not lacks.any():
        return layout
    return ak.contents.ByteMaskedArray(ak.index.Index8(lacks.astype(np.int8)), layout, False)


def jagged_array(offsets: npt.NDArray[Any], values: npt.NDArray[Any]) -> ak.Array:
    """(n_events, n), on the memory of the arguments. `offsets`: (n_events + 1,) int64."""
    return ak.Array(layout_of((offsets, values)))


def layout_of(plain: Plain) -> ak.contents.Content:
    """Awkward layout of a plain column."""
    if not isinstance(plain, tuple):
        return ak.contents.NumpyArray(plain)
    offsets = ak.index.Index64(plain[0])
    if is_text(plain):
        characters = plain[1].view(np.uint8)
        content = ak.contents.NumpyArray(characters, parameters={"__array__": "char"})
        return ak.contents.ListOffsetArray(offsets, content, parameters={"__array__": "string"})
    return ak.contents.ListOffsetArray(offsets, layout_of(inner_of(plain)))


def is_text(plain: Plain) -> bool:
    """Whether the lists of a plain column are texts."""
    return len(plain) == 2 and plain[1].dtype.kind == "S"


def offsets_of(array: ak.Array) -> npt.NDArray[np.int64]:
    """Offsets of the lists of each event, of any content: (n_events + 1,), beginning with 0. Raises
    ValueError if an event has no list."""
    layout = array.layout
    if isinstance(layout, ak.contents.ListOffsetArray):
        offsets = np.asarray(layout.offsets, dtype=np.int64)
        from_zero: npt.NDArray[np.int64] = offsets - offsets[0]
        return from_zero
    counts = ak.to_numpy(ak.num(array, axis=1), allow_missing=False)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def values_of(array: ak.Array) -> npt.NDArray[Any]:
    """Values of a jagged array of numbers, event after event. Raises ValueError if some are
    missing."""
    layout = array.layout
    if isinstance(layout, ak.contents.ListOffsetArray) and layout.content.is_numpy:
        return np.asarray(layout.content.data[layout.offsets[0] : layout.offsets[-1]])
    return np.asarray(ak.to_numpy(ak.flatten(array), allow_missing=False))
