"""How many events a child takes at a time, and how large its blocks are: as measured with those
before. No result depends on it."""

from __future__ import annotations

from dataclasses import dataclass

_LONGEST_S = 1.0
"""Time for which a child takes events: what is lost if it dies, and how often it commits."""
_SHORTEST_S = 0.02
"""The same when little is left, where calls cost nothing but their events."""
_CALLS_WORTH = 1.5
"""Time of events that is worth a call, over what the call costs whatever its size."""
_SHARES = 3
"""Stretches that each child would get of what is left."""
_FIRST_BLOCK = 8192
"""Events of the first block of a job with Python modules."""
_LARGEST_BLOCK = 131_072
_GROWTH = 8
"""Ratio of the sizes of blocks that are tried, one after the other."""
_GAIN = 1.05
"""Ratio of the rates at which larger blocks are worth their memory."""
_LONGEST_BLOCK_S = 0.25
"""Blocks that take longer do not grow: progress and balance would suffer."""
_COLUMN_BYTES = 64_000_000
"""Memory that the columns of a block may take."""


@dataclass
class Pace:
    """`n_children`: children that share what is left; 1 if this one has a share of its own.
    `block_size`: events, where the configuration gives it; 0: the source chooses; None: by what
    calls cost. `n_blocks`: blocks in flight."""

    n_children: int
    block_size: int | None
    n_blocks: int = 1

    def __post_init__(self) -> None:
        self._grows = self.block_size is None
        self.block = _FIRST_BLOCK if self.block_size is None else self.block_size
        self._rate = 0.0
        self._best_rate = 0.0
        self._before: tuple[float, float] | None = None
        self._per_call_s = 0.0

    def n_wanted(self, n_left: int) -> int:
        """Events to take of those that no child has taken."""
        share = -(-n_left // (_SHARES * self.n_children)) if self.n_children > 1 else n_left
        if not self._rate or self._grows:
            return min(share, max(self.block, 1) * self.n_blocks)
        shortest_s = _SHORTEST_S + _CALLS_WORTH * self._per_call_s
        return int(min(max(share, self._rate * shortest_s), self._rate * _LONGEST_S))

    def note(self, n_events: int, wall_s: float, n_column_bytes: int) -> None:
        """Notes what a stretch has taken. `n_column_bytes`: of the columns of one block."""
        if not n_events or wall_s <= 0.0:
            return
        self._rate = n_events / wall_s
        if self._grows and 2 * n_events > self.block * self.n_blocks:
            self._note_call(n_events, wall_s)
            self._choose_block(n_column_bytes)

    def _note_call(self, n_events: int, wall_s: float) -> None:
        """Calls of different sizes show what is paid for each."""
        n_calls = max(n_events / self.block, 1.0)
        call = (n_events / n_calls, wall_s / n_calls)
        if self._before is not None and call[0] > self._before[0]:
            per_event_s = (call[1] - self._before[1]) / (call[0] - self._before[0])
            self._per_call_s = max(call[1] - call[0] * max(per_event_s, 0.0), 0.0)
        self._before = call

    def _choose_block(self, n_column_bytes: int) -> None:
        """Tries larger blocks as long as they are faster, short enough and small enough. The first
        block does not count against larger ones: it has paid for what is loaded once."""
        is_worth_it = self._rate > _GAIN * self._best_rate
        self._best_rate = max(self._best_rate, self._rate)
        larger = min(self.block * _GROWTH, _LARGEST_BLOCK)
        is_wide = n_column_bytes * larger > _COLUMN_BYTES * self.block
        if not is_worth_it or is_wide or larger == self.block:
            self._grows = False
        elif self.block / self._rate <= _LONGEST_BLOCK_S:
            self.block = larger
