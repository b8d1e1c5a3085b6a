"""Columns as users see them, and as offsets and values."""

from __future__ import annotations

from typing import Any

import awkward as ak
import numpy as np
import numpy.typing as npt


def jagged_array(offsets: npt.NDArray[Any], values: npt.NDArray[Any]) -> ak.Array:
    """(n_events, n), on the memory of its arguments. `offsets`: (n_events + 1,) int64."""
    layout = ak.contents.ListOffsetArray(ak.index.Index64(offsets), ak.contents.NumpyArray(values))
    return ak.Array(layout)


def offsets_of(array: ak.Array) -> npt.NDArray[np.int64]:
    """Offsets of the lists of each event, whatever is in them: (n_events + 1,), from 0. Raises
    ValueError if an event has no list."""
    layout = array.layout
    if isinstance(layout, ak.contents.ListOffsetArray):
        offsets = np.asarray(layout.offsets, dtype=np.int64)
        from_zero: npt.NDArray[np.int64] = offsets - offsets[0]
        return from_zero
    counts = ak.to_numpy(ak.num(array, axis=1), allow_missing=False)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def values_of(array: ak.Array) -> npt.NDArray[Any]:
    """The values of a jagged array of numbers, event after event. Raises ValueError if some are
    missing."""
    layout = array.layout
    if isinstance(layout, ak.contents.ListOffsetArray) and layout.content.is_numpy:
        return np.asarray(layout.content.data[layout.offsets[0] : layout.offsets[-1]])
    return np.asarray(ak.to_numpy(ak.flatten(array), allow_missing=False))
