"""Memory of each process against time, between its samples: the source of all statements on memory
in a report."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from forkrun.base.lumis import distinct
from forkrun.monitoring.records import RunRecords, Sample, complete_samples, once

Curve = npt.NDArray[np.float64]
Points = tuple[Curve, Curve]
"""Times and values, with linear interpolation."""
Process = tuple[int | None, int]

_TINY_S = 1e-6
_SPIKE = 1.02
"""Smallest ratio to the highest sampled sum at which a peak between samples counts."""


class MemoryCurves(Struct, frozen=True):
    """`time_s`: (n,) since the epoch. All else in bytes, (n,): private memory by child (None: the
    parent), common memory, counted once, and the sum of RSS. `n_processes`: (n,), number of
    processes."""

    time_s: Curve
    private: dict[int | None, Curve]
    shared: Curve
    rss: Curve
    n_processes: Curve


class Totals(Struct, frozen=True):
    """Memory summed over processes."""

    time_s: Curve
    private: Curve
    shared: Curve
    rss: Curve
    n_processes: Curve

    @property
    def pss(self) -> Curve:
        """Real memory."""
        total: Curve = self.private + self.shared
        return total


class Life(Struct, frozen=True):
    """A process, from its fork, when it had no private memory, or its first sample, to its end:
    times since the epoch, and its private memory and RSS [bytes]. `most_rss`: highest RSS ever;
    `shared`: largest shared memory."""

    child: int | None
    time_s: Curve
    private: Curve
    rss: Curve
    end_s: float
    most_rss: float = 0.0
    shared: float = 0.0

    def among(self, time_s: Curve) -> slice:
        """Slice of the times within the process's life."""
        first, end = np.searchsorted(time_s, [self.time_s[0], self.end_s + _TINY_S / 2])
        return slice(int(first), int(end))


def memory_curves(records: RunRecords, most: int | None = None) -> MemoryCurves:
    """Curves: linear between samples of a process, then constant until its end; else 0. `most`:
    approximate maximum number of times; the time of the highest sum is kept."""
    lives, totals, _ = lives_and_totals(records)
    time_s = totals.time_s
    if most is not None and len(time_s) > most:
        time_s = _downsampled(time_s, lives, totals, most)
        totals = add_up((totals.time_s, totals.shared), lives, time_s)
    private: dict[int | None, Curve] = {None: np.zeros_like(time_s)}
    for life in lives:
        curve = private.setdefault(life.child, np.zeros_like(time_s))
        here = life.among(time_s)
        curve[here] += np.interp(time_s[here], life.time_s, life.private)
    return MemoryCurves(time_s, private, totals.shared, totals.rss, totals.n_processes)


@once
def lives_and_totals(records: RunRecords) -> tuple[list[Life], Totals, bool]:
    """All processes; their sums at the times of all samples, begins and ends; and whether a process
    shows that the sum was higher between samples."""
    groups = complete_samples(records)
    lives = _lives(records, groups)
    steps_s = _steps(groups, lives)
    lives = [_with_steps(each, steps_s) if each.child is None else each for each in lives]
    shared = _shared(records.samples, groups, steps_s)
    times = [life.time_s for life in lives]
    ends = [np.array([life.end_s, life.end_s + _TINY_S]) for life in lives]
    time_s = distinct(np.concatenate([np.zeros(0), *times, *ends]))
    totals = add_up(shared, lives, time_s)
    spike = _spike(lives, totals)
    if spike is None:
        return lives, totals, False
    lives = [*(life for life in lives if life is not spike[0]), spike[1]]
    time_s = distinct(np.concatenate([time_s, spike[1].time_s]))
    return lives, add_up(shared, lives, time_s), True


def add_up(common: Points, lives: Sequence[Life], time_s: Curve) -> Totals:
    """Sums at the given times. `common`: memory common to all processes."""
    private, rss, n_processes = (np.zeros_like(time_s) for _ in range(3))
    for life in lives:
        here = life.among(time_s)
        private[here] += np.interp(time_s[here], life.time_s, life.private)
        rss[here] += np.interp(time_s[here], life.time_s, life.rss)
        n_processes[here] += 1
    shared = np.interp(time_s, *common) * (n_processes > 0)
    return Totals(time_s, private, shared, np.maximum(rss, private + shared), n_processes)


def _shared(
    samples: Sequence[Sample], groups: Sequence[Sequence[Sample]], steps_s: Curve
) -> Points:
    """Common memory in complete samples; without any, the largest value of a process."""
    if not groups:
        most = max((each.pss_bytes - each.private_bytes for each in samples), default=0)
        return np.zeros(1), np.full(1, float(most))
    times = np.array([group[-1].time_s for group in groups])
    sums = [sum(each.pss_bytes - each.private_bytes for each in group) for group in groups]
    return _stepped((times, np.array(sums, dtype=np.float64)), steps_s)


def _steps(groups: Sequence[Sequence[Sample]], lives: Sequence[Life]) -> Curve:
    """Times at which common memory became private to the parent, or the reverse: at once, with the
    last end between two complete samples or with the first fork."""
    children = [life for life in lives if life.child is not None]
    begins = np.array([life.time_s[0] for life in children])
    ends = np.array([life.end_s for life in children])
    found = []
    for before, after in pairwise(groups):
        if len(before) == len(after):
            continue
        changes = ends if len(after) < len(before) else begins
        inside = changes[(changes >= before[-1].time_s) & (changes < after[-1].time_s)]
        if len(inside):
            found.append(inside.max() if changes is ends else inside.min())
    return np.array(found)


def _with_steps(life: Life, steps_s: Curve) -> Life:
    time_s, private = _stepped((life.time_s, life.private), steps_s)
    return replace(
        life, time_s=time_s, private=private, rss=np.interp(time_s, life.time_s, life.rss)
    )


def _stepped(points: Points, steps_s: Curve) -> Points:
    """Points with steps: the earlier value until each given time, and the later value from then
    on."""
    times, values = points
    inside = steps_s[(steps_s >= times[0]) & (steps_s < times[-1])]
    after = np.searchsorted(times, inside, "right")
    inside = np.clip(inside, None, times[after] - 2 * _TINY_S)
    new_times = np.concatenate([times, inside, inside + _TINY_S])
    new_values = np.concatenate([values, values[after - 1], values[after]])
    order = np.argsort(new_times, kind="stable")
    return new_times[order], new_values[order]


def _downsampled(time_s: Curve, lives: Sequence[Life], totals: Totals, most: int) -> Curve:
    ends = [value for life in lives for value in (life.time_s[0], life.end_s, life.end_s + _TINY_S)]
    highest = time_s[np.argmax(totals.pss)]
    return distinct(np.array([*np.linspace(time_s[0], time_s[-1], most), *ends, highest]))


def _lives(records: RunRecords, groups: Sequence[Sequence[Sample]]) -> list[Life]:
    by_process: dict[Process, list[Sample]] = {}
    for sample in records.samples:
        by_process.setdefault((sample.child, sample.pid), []).append(sample)
    forks, exits = (_times_of(records, event) for event in ("fork", "child_exit"))
    sessions_s = _sessions(records)
    sampled_s = [group[0].time_s for group in groups]
    return [
        _life(
            samples, forks.get(process), _end_s(process, samples[-1], exits, sessions_s, sampled_s)
        )
        for process, samples in by_process.items()
    ]


def _times_of(records: RunRecords, event: str) -> dict[Process, float]:
    return {
        (line.child, line.details.get("pid", 0)): line.time_s
        for line in records.timeline
        if line.event == event
    }


def _sessions(records: RunRecords) -> list[tuple[float, float]]:
    """Begin of each session, and the last known time of its parent [s since the epoch]."""
    starts = [-np.inf, *records.times("job_start")[1:], np.inf]
    times = [line.time_s for line in records.timeline]
    ends = [bisect_right(times, until_s - _TINY_S) for until_s in starts[1:]]
    return [(begin_s, times[n - 1]) for begin_s, n in zip(starts, ends, strict=False) if n]


def _end_s(
    process: Process,
    last: Sample,
    exits: dict[Process, float],
    sessions_s: list[tuple[float, float]],
    sampled_s: list[float],
) -> float:
    """End of a process: at once for a child that has sampled itself; before the next complete
    sample for a child that is missing in it."""
    is_missing = process[0] is not None and bool(sampled_s) and sampled_s[-1] > last.time_s
    if last.own_cost_s or is_missing:
        return last.time_s
    if process[0] is None:
        ends = [end_s for begin_s, end_s in sessions_s if begin_s <= last.time_s]
        return max([last.time_s, *ends[-1:]])
    return max(last.time_s, exits.get(process, 0.0))


def _life(samples: Sequence[Sample], fork_s: float | None, end_s: float) -> Life:
    points = [(sample.time_s, sample.private_bytes, sample.rss_bytes) for sample in samples]
    if fork_s is not None and fork_s < points[0][0]:
        points.insert(0, (fork_s, 0, samples[0].shared_bytes))
    time_s, private, rss = np.array(points, dtype=np.float64).T
    most_rss = max(sample.most_rss_bytes for sample in samples)
    shared = max(sample.shared_bytes for sample in samples)
    return Life(samples[0].child, time_s, private, rss, end_s, most_rss, shared)


def _spike(lives: Sequence[Life], totals: Totals) -> tuple[Life, Life] | None:
    """The child that shows that the job had more memory than was ever sampled, and a copy with its
    own peak at the time in its life when the others had least, so that the sum is a lower limit."""
    peak, found = _SPIKE * totals.pss.max(initial=0.0), None
    for life in lives:
        most = life.most_rss - life.shared
        if life.child is None or most <= life.private.max():
            continue
        here = life.among(totals.time_s)
        own = np.interp(totals.time_s[here], life.time_s, life.private)
        others = totals.pss[here] - own
        least = int(np.argmin(others))
        if others[least] + most > peak:
            peak = others[least] + most
            found = life, _with_point(life, float(totals.time_s[here][least]), most)
    return found


def _with_point(life: Life, time_s: float, private: float) -> Life:
    """The process with this private memory at this time, and unchanged just before and after."""
    times = np.array([time_s - _TINY_S, time_s, time_s + _TINY_S])
    values = []
    for curve, most in ((life.private, private), (life.rss, life.most_rss)):
        around = np.interp(times, life.time_s, curve)
        around[1] = most
        values.append(around)
    keep = np.abs(life.time_s - time_s) > _TINY_S
    order = np.argsort(np.concatenate([life.time_s[keep], times]), kind="stable")
    merged = [
        np.concatenate([old[keep], new])[order]
        for old, new in ((life.time_s, times), (life.private, values[0]), (life.rss, values[1]))
    ]
    return replace(life, time_s=merged[0], private=merged[1], rss=merged[2])
