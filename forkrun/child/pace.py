"""How many events a child takes at a time, and how large its blocks are: as measured with those
before. No result depends on it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import ceil, inf
from statistics import median

_FIRST_EVENTS = 16
"""Events of a first stretch, whose cost is not known, at most; a call for one alone says little."""
_FIRST_TRIED_S = 0.3
"""Time of a first stretch, at most, where the trial of the modules tells what an event costs."""
_FIRST_SHARES = 64
"""First stretches that each child would get, at least."""
_LONGEST_S = 1.0
"""Time for which a child takes events: what is lost if it dies, and how often it commits."""
_LONGEST_TO_CLUSTER_S = 6.0
"""The same where a cluster of the input then ends, of which nobody reads a part twice."""
_SHORTEST_S = 0.02
"""Time for which it does when little is left, where calls cost nothing but their events."""
_SHARES = 12
"""Stretches that each child would get of what is left, at least: should their events take ten times
as long as those before, others have as much to do meanwhile."""
_FEWEST_SHARES = 3
"""The same where more would be too short for what is paid for each, and of files on servers."""
_LONG_ENOUGH_S = 0.1
"""Time of a stretch to which a commit of few results adds little."""
_COMMITS_LONG_ENOUGH = 10
"""The same of any, in commits: those of thousands of histograms take tenths of a second."""
_LONG_ENOUGH_TO_WAIT_S = 0.3
"""The same where each waits for a server: a child may take all that is left."""
_CALLS_LONG_ENOUGH = 20
"""Time of events to which a call adds little, in multiples of a call's fixed cost."""
_CALLS_WORTH = 1.5
"""Time of events that is worth a call, in multiples of a call's fixed cost."""
_CALLS_KEPT = 7
"""Stretches from which it follows what a call costs."""
_CALLS_TO_TRUST = 3
"""Pairs of calls after which what a call costs is believed, however much it is."""
_OTHER_SIZE = 1.5
"""Ratio of the sizes of two calls from which it follows."""
_LONGEST_CALLS = 3
"""Multiples of a call's fixed cost that a stretch may take if this is longer."""
_OTHER_FIRST_S = 5.0
"""A first stretch that would take no longer on a CPU of its own is followed by a larger one: only
calls of two sizes show what is paid for each."""
_FIRST_CALL_S = 0.05
"""The fixed cost of a call of Python modules is not known after the first: it is taken for so much
of it, and how large the second may be follows from the rest."""
_MOST_FIXED_AT_FIRST, _MOST_FIXED = 4, 16
"""Ratio of the time of a stretch to that of its events, at most, before it is believed and then."""
_FIRST_BLOCK = 8192
"""Events of the first blocks of a job with Python modules, at most: of one unit."""
_LARGEST_BLOCK = 262_144
_GROWTH = 8
"""Ratio of the sizes of blocks that are tried, one after the other."""
_GAIN = 1.05
"""Ratio of the rates at which larger blocks are worth their memory."""
_LONGEST_BLOCK_S = 0.25
"""Blocks that take longer do not grow, unless much of it is fixed cost: progress and balance would
suffer."""
_CALLS_IN_BLOCK, _CALLS_IN_LONG_BLOCK = 8, 2
"""Multiples of a call's fixed cost that a block may take if this is longer: within the time of a
stretch, and beyond it."""
_COLUMN_BYTES = 64_000_000
"""Memory that the columns of a block may take."""
_SMALLEST_BLOCK = 1024
"""Events of a block, at least, however much memory that takes: each costs a call."""
_FEWEST_AT_FIRST, _MOST_AT_FIRST = 8, 64
"""Blocks of a first stretch that has more than a few events: nobody knows how long these take."""
_SMALLEST_AT_FIRST, _SMALL_AT_FIRST = 32, 128
"""Events of these, at least, and where there would be more blocks than the fewest: calls of a small
unit cost more than its events, and a block of events that take seconds each does not seem to hang
yet."""
_MOST_CHOSEN = 65_536
"""Events of a block that the source chooses, at most."""
_SLOW = 10.0
"""Events per second that children leave to each other rather than read ahead."""


def first_stretch(n_events: int, n_children: int, rate: float) -> int:
    """Events of a child's first stretch where the trial of the modules has had so many per second:
    an equal share in a short job, of which nothing is left for a second call."""
    most, share = int(rate * _FIRST_TRIED_S), ceil(n_events / n_children)
    return share if share <= most else min(most, ceil(share / _FEWEST_SHARES))


def _longest_block_s(per_call_s: float) -> float:
    """Time that a block may take to grow further."""
    calls_s = min(_CALLS_IN_BLOCK * per_call_s, _LONGEST_S)
    return max(_LONGEST_BLOCK_S, calls_s, _CALLS_IN_LONG_BLOCK * per_call_s)


@dataclass
class Pace:
    """`n_children`: children that share what is left; 1 if this one has a share of its own.
    `block_size`: events, where the configuration gives it; 0: the source chooses; None: by what
    calls cost. `most`: events to take at a time; 0: any number. `waits`: for a server, for every
    stretch again. `longest_block_s`: a child that ends no block for much longer seems to hang;
    `n_tried`: events of the first stretch, by what they cost in the trial of the modules; 0: not
    known."""

    n_children: int
    block_size: int | None
    most: int = 0
    waits: bool = False
    longest_block_s: float = 60.0
    n_tried: int = 0

    def __post_init__(self) -> None:
        self._grows = self.block_size is None
        self.block = _FIRST_BLOCK if self.block_size is None else self.block_size
        self._rate = 0.0
        self._slowness = 1.0
        self._last: tuple[int, float] = (0, 0.0)
        self._rate_of_events = 0.0  # without what is paid for calls
        self._best: tuple[int, float] = (0, 0.0)
        self._calls: deque[tuple[float, float]] = deque(maxlen=_CALLS_KEPT)
        self._fixed_s: deque[float] = deque(maxlen=_CALLS_KEPT)
        self._shortest_call_s = inf
        self._n_largest = 1
        """Events of the largest block so far, for which its columns have memory."""
        self._per_call_s = 0.0
        self._commit_s = 0.0
        self.n_calls = 0.0
        self.calls_s, self.fixed_s = 0.0, 0.0
        """Time of calls of blocks, and their fixed cost in it; both as far as it is known."""

    def n_wanted(self, n_left: int) -> tuple[int, int]:
        """Events to take of those that no child has taken, and how many at most if they end with a
        cluster. Of the first ones as few as can be: what an event costs is not known."""
        if not self._rate:
            first = min(_FIRST_EVENTS, n_left // (_FIRST_SHARES * self.n_children))
            first = max(first, min(self.n_tried, n_left), 1)
            return first, first
        per_call_s = self._per_call_s * self._slowness
        share = self._share(n_left, per_call_s)
        worth_s = _SHORTEST_S + _CALLS_WORTH * (per_call_s + self._commit_s)
        n = max(ceil(share), self._rate_of_events * worth_s)
        commits_s = _COMMITS_LONG_ENOUGH * self._commit_s
        n = min(n, self._expected_rate * max(_LONGEST_S, _LONGEST_CALLS * per_call_s, commits_s))
        n = max(n, min(self._n_of_other_size(), share))
        to_cluster = n_left / (_SHARES * self.n_children)
        to_cluster = max(1.25 * n, min(to_cluster, self._rate * _LONGEST_TO_CLUSTER_S))
        most = self.most or n_left
        if self._grows:
            most = min(most, self.block)
        return int(min(n, most)), int(min(to_cluster, most))

    def block_of(self, n_events: int) -> int:
        """Events of the blocks of a stretch of so many; 0: the source chooses. A stretch cannot be
        short where lumis are to be whole."""
        if n_events <= max(_FIRST_EVENTS, self.n_tried) or (self.block_size and not self._rate):
            return self.block
        at_first = min(n_events // _FEWEST_AT_FIRST, _SMALL_AT_FIRST)
        at_first = max(n_events // _MOST_AT_FIRST, at_first, _SMALLEST_AT_FIRST)
        most = max(int(self._rate * self.longest_block_s), 1) if self._rate else at_first
        if not self.block:
            return 0 if most >= _MOST_CHOSEN else min(most, _FIRST_BLOCK)
        return min(self.block, most)

    def _share(self, n_left: int, per_call_s: float) -> float:
        """Events of a stretch of which each child gets several: as many as there are to be, fewer
        if these were so short that commits and calls would cost much."""
        if self.n_children == 1:
            return n_left
        share = n_left / self.n_children
        if self.waits:
            return max(share / _FEWEST_SHARES, min(n_left, self._rate * _LONG_ENOUGH_TO_WAIT_S))
        long_enough_s = max(_LONG_ENOUGH_S, _COMMITS_LONG_ENOUGH * self._commit_s)
        long_enough = self._rate_of_events * (long_enough_s + _CALLS_LONG_ENOUGH * per_call_s)
        return min(max(share / _SHARES, long_enough), share / _FEWEST_SHARES)

    @property
    def is_apart(self) -> bool:
        """Whether the stretch that was taken last is better in flight alone: how large the next is
        to be follows from it, or an event takes so long that to read it meanwhile saves nothing."""
        is_unknown = self._grows and bool(self._n_of_other_size())
        return is_unknown or self._rate < _SLOW

    @property
    def _expected_rate(self) -> float:
        """Events per second in blocks of the present size, which may be larger than the last. Where
        calls seem to cost much, events may have cost different, and that of the last counts."""
        is_dear = self._per_call_s > _FIRST_CALL_S
        if not self.block or (is_dear and not self._is_trusted):
            return self._rate
        per_call_s = self._per_call_s * self._slowness
        return 1.0 / (1.0 / self._rate_of_events + per_call_s / self.block)

    @property
    def _is_trusted(self) -> bool:
        """Whether it has been seen several times what a call costs."""
        return len(self._fixed_s) >= _CALLS_TO_TRUST

    def _n_of_other_size(self) -> float:
        """Events of a call that shows what is paid for calls; 0 if that is known, would take long,
        or if the source chooses blocks: then nearly nothing is."""
        n_last, last_s = self._last
        is_known = not self.block or bool(self._fixed_s)
        return 0.0 if is_known or last_s > _OTHER_FIRST_S else 2.0 * n_last

    def note(
        self,
        n_events: int,
        wall_s: float,
        cpu_s: float,
        n_column_bytes: int,
        slowness: float = 1.0,
        n_blocks: int = 0,
        commit_s: float = 0.0,
    ) -> None:
        """Notes what a stretch has taken. `n_column_bytes`: of the columns of one block;
        `slowness`: how many times longer than on CPUs of its own the process took for what it has
        computed, time in which it slept or waited for others left out; `n_blocks`: that it had, 0:
        as few as they can be; `commit_s`: CPU time of its commit."""
        self._commit_s = commit_s * slowness
        if not n_events or wall_s <= 0.0:
            return
        self._rate = n_events / wall_s
        n_calls = float(n_blocks) or (max(n_events / self.block, 1.0) if self.block else 1.0)
        call_s = min(cpu_s, wall_s) or wall_s  # Another process may have had the CPU meanwhile.
        self._note_call(n_events / n_calls, call_s / n_calls)
        self._slowness, self._last = slowness, (n_events, wall_s / slowness)
        self.n_calls += n_calls
        self.calls_s += call_s
        self.fixed_s += n_calls * self._per_call_s
        per_call_s = self._per_call_s
        if self._grows and not self._fixed_s:
            per_call_s = min(call_s / n_calls, _FIRST_CALL_S)
        per_call_s *= self._slowness
        least_s = wall_s / (_MOST_FIXED if self._is_trusted else _MOST_FIXED_AT_FIRST)
        self._rate_of_events = n_events / max(wall_s - n_calls * per_call_s, least_s)
        if self.block_size is not None:
            return
        self._n_largest = max(self._n_largest, min(n_events, self.block))
        n_bytes = n_column_bytes / self._n_largest
        if self._grows and 2 * n_events > self.block:
            self._choose_block(n_events / call_s, n_bytes)
        if self._grows and self._fixed_s:
            self._expect_larger(n_bytes)
        elif self._grows:
            self._expect_second(n_bytes)
        if self.block * n_bytes > _COLUMN_BYTES:
            self.block = min(self.block, max(int(_COLUMN_BYTES / n_bytes), _SMALLEST_BLOCK))

    def _note_call(self, n_events: float, call_s: float) -> None:
        """Calls of different sizes show what is paid for each: no more than the shortest of them
        took. The last of another size, whose events cost most nearly the same; the median, as some
        events cost more than others."""
        self._shortest_call_s = min(self._shortest_call_s, call_s)
        for other, other_s in reversed(self._calls):
            if max(other, n_events) >= _OTHER_SIZE * min(other, n_events):
                fixed_s = (other * call_s - n_events * other_s) / (other - n_events)
                self._fixed_s.append(max(fixed_s, 0.0))
                self._per_call_s = min(median(self._fixed_s), self._shortest_call_s)
                break
        self._calls.append((n_events, call_s))

    @property
    def _larger(self) -> int:
        return min(self.block * _GROWTH, _LARGEST_BLOCK)

    def _expect_second(self, n_bytes: float) -> None:
        """Lets the second stretch be one block, which shows what is paid for each."""
        second = min(int(self._rate_of_events * _LONGEST_S), self._larger)
        if second * n_bytes <= _COLUMN_BYTES:
            self.block = max(self.block, second)

    def _expect_larger(self, n_bytes: float) -> None:
        """Takes blocks in which calls cost a small part, before there was one of the present size:
        each stretch in between would pay for a call. `n_bytes`: of the columns of an event."""
        per_call_s = self._per_call_s * self._slowness
        worth = per_call_s / (_GAIN - 1.0) * self._rate_of_events
        short = (_longest_block_s(per_call_s) - per_call_s) * self._rate_of_events
        larger = int(min(worth, short, _COLUMN_BYTES / n_bytes if n_bytes else inf, _LARGEST_BLOCK))
        self.block = max(self.block, larger)

    def _choose_block(self, rate: float, n_bytes: float) -> None:
        """Tries larger blocks as long as they are faster, short enough and small enough. `n_bytes`:
        of the columns of an event."""
        best_block, best_rate = self._best
        is_worth_it = self.block == best_block or rate > _GAIN * best_rate
        self._best = (self.block, max(best_rate, rate))
        larger = self._larger
        is_wide = n_bytes * larger > _COLUMN_BYTES
        if not is_worth_it or is_wide or larger == self.block:
            self._grows = False
        elif self.block / self._rate <= _longest_block_s(self._per_call_s):
            self.block = larger
