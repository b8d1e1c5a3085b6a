"""Columns as users see them, and as offsets and values; events of a block left by filters, in the
form of a block.

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


Flags = npt.NDArray[np.bool_]


class EventsLeft:
    """Stand-in for the core's block in an EventBlock. `core`: the whole block; `left`: (n_events,)
    bool."""

    def __init__(self, core: Any, left: Flags) -> None:
        self._core, self.left = core, left
        self.n_events = int(np.count_nonzero(left))
        self.mask = np.ones(self.n_events, dtype=bool)
        self.file, self.iov = core.file, core.iov

    @property
    def events(self) -> npt.NDArray[np.uint64]:
        """(n_events,) event numbers."""
        numbers: npt.NDArray[np.uint64] = self._core.events
        return numbers[self.left]

    @property
    def n_lumis(self) -> int:
        """Number of lumis in the whole block: access to `run` must not depend on the events
        left."""
        return int(self._core.n_lumis)

    @property
    def run(self) -> int:
        return int(self._core.run)

    @property
    def lumi(self) -> int:
        return int(self._core.lumi)

    def lumi_spans(self) -> npt.NDArray[np.int64]:
        """(n_lumis, 4), in the core's form, without lumis that have no events left."""
        return spans_left(self._core.lumi_spans(), self.left)

    def random(self) -> Any:
        """Random numbers for the events of the whole block."""
        return self._core.random()

    def column(self, name: str) -> Plain:
        return self._core.column_left(name)


def spans_left(spans: npt.NDArray[np.int64], left: Flags) -> npt.NDArray[np.int64]:
    """(n_lumis, 4) run, lumi, first, last of the events left."""
    n_before = np.concatenate([[0], np.cumsum(left)])
    first, last = n_before[spans[:, 2]], n_before[spans[:, 3]]
    return np.column_stack([spans[:, :2], first, last])[last > first]


def events_left_of(block: Any) -> Any:
    """Events for a call of a module: the core's block itself if all events are left."""
    return block if block.has_all else EventsLeft(block, block.mask)


def spread(column: Plain, left: Flags) -> Plain:
    """Plain column of all events from one of the events left; the others get zeros or empty
    lists."""
    if not isinstance(column, tuple):
        values = np.zeros((len(left), *column.shape[1:]), column.dtype)
        values[left] = column
        return values
    counts = np.zeros(len(left) + 1, np.int64)
    counts[1:][left] = np.diff(column[0])
    return np.cumsum(counts), *column[1:]
