"""Events of a block left by filters, in the form of a block."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from forkrun.formats.plain import Plain

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
