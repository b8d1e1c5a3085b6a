"""Places of objects among all of a block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


def event_of(offsets: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """(n_objects,) number of each object's event. `offsets`: (n_events + 1,)."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def places(
    event: npt.NDArray[Any], indices: npt.NDArray[Any], there: npt.NDArray[Any]
) -> npt.NDArray[np.int64]:
    """For each of some objects the place of the one that it leads to, among all of the block; -1
    where its index leads to none. `event`: its event; `there`: offsets of those that the indices
    count in each event."""
    index = indices.astype(np.int64)
    is_there = (index >= 0) & (index < np.diff(there)[event])
    return np.where(is_there, there[:-1][event] + index, -1)


def parts_of(
    offsets: npt.NDArray[Any], parts: Sequence[npt.NDArray[Any]], there: npt.NDArray[Any]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Offsets and places, among all values of a block, of those that belong to each object.
    `parts`: (n_objects,) begin and end in the event's list; `there`: offsets of these lists."""
    event = event_of(offsets)
    n_there = np.diff(there)[event]
    begin, end = (np.minimum(part.astype(np.int64), n_there) for part in parts)
    counts = np.maximum(end - begin, 0)
    ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    first = np.repeat(there[:-1][event] + begin - ends[:-1], counts)
    return ends, first + np.arange(ends[-1])
