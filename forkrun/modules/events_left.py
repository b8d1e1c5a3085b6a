"""The events of a block that filters have left, as a block of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from forkrun.formats.plain import Plain

Flags = npt.NDArray[np.bool_]


class EventsLeft:
    """What EventBlock takes for the core's block. `core`: the whole block; `left`: (n_events,)
    bool, of its events."""

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
        """Lumis of the whole block: what a module may ask does not depend on what is left."""
        return int(self._core.n_lumis)

    @property
    def run(self) -> int:
        return int(self._core.run)

    @property
    def lumi(self) -> int:
        return int(self._core.lumi)

    def lumi_spans(self) -> npt.NDArray[np.int64]:
        """(n_lumis, 4), as the core's; lumis without events are left out."""
        return spans_left(self._core.lumi_spans(), self.left)

    def random(self) -> Any:
        """Random numbers of the whole block's events."""
        return self._core.random()

    def column(self, name: str) -> Plain:
        return self._core.column_left(name)


def spans_left(spans: npt.NDArray[np.int64], left: Flags) -> npt.NDArray[np.int64]:
    """(n_lumis, 4) run, lumi, first, last of the events left."""
    n_before = np.concatenate([[0], np.cumsum(left)])
    first, last = n_before[spans[:, 2]], n_before[spans[:, 3]]
    return np.column_stack([spans[:, :2], first, last])[last > first]


def events_left_of(block: Any) -> Any:
    """Events that a module is called with: the core's block itself where all are left."""
    return block if block.has_all else EventsLeft(block, block.mask)


def spread(column: Plain, left: Flags) -> Plain:
    """Plain column of all events: of the events left, and zeros or empty lists in the others."""
    if not isinstance(column, tuple):
        values = np.zeros((len(left), *column.shape[1:]), column.dtype)
        values[left] = column
        return values
    counts = np.zeros(len(left) + 1, np.int64)
    counts[1:][left] = np.diff(column[0])
    return np.cumsum(counts), *column[1:]
