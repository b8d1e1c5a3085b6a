"""Memory of each process against time, between its samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from forkrun.base.lumis import distinct
from forkrun.monitoring.records import RunRecords, Sample

Curve = npt.NDArray[np.float64]
Curves = dict[int | None, Curve]

_TINY_S = 1e-6


class MemoryCurves(Struct, frozen=True):
    """`time_s`: (n,) since the epoch. By child (None: the parent) private memory, PSS and RSS:
    (n,) [bytes]."""

    time_s: Curve
    private: Curves
    pss: Curves
    rss: Curves

    @property
    def shared(self) -> Curve:
        """What the processes have in common, counted once: (n,) [bytes]."""
        return add_up(self.pss) - add_up(self.private)


class _Life(Struct, frozen=True):
    """Samples of a process, in order of time, and its end [s since the epoch]."""

    child: int | None
    samples: Sequence[Sample]
    end_s: float


def memory_curves(records: RunRecords, most: int | None = None) -> MemoryCurves:
    """Straight between a process's own samples, then its last value until it ends; else 0.
    `most`: about so many times at the most; the highest sample of each process is among them."""
    lives = _lives(records)
    time_s = _times(records, lives, most)
    curves = MemoryCurves(time_s, {None: np.zeros_like(time_s)}, {}, {})
    names = ("private_bytes", "pss_bytes", "rss_bytes")
    for life in lives:
        sampled_s = [sample.time_s for sample in life.samples]
        alive = (time_s >= sampled_s[0]) & (time_s <= life.end_s)
        for curve, name in zip((curves.private, curves.pss, curves.rss), names, strict=True):
            values = [getattr(sample, name) for sample in life.samples]
            between = np.interp(time_s, sampled_s, values)
            curve[life.child] = curve.get(life.child, np.zeros_like(time_s)) + between * alive
    return curves


def add_up(curves: Curves) -> Curve:
    """Sum over processes: (n,)."""
    total: Curve = np.sum(list(curves.values()), axis=0)
    return total


def _lives(records: RunRecords) -> list[_Life]:
    by_process: dict[tuple[int | None, int], list[Sample]] = {}
    for sample in records.samples:
        by_process.setdefault((sample.child, sample.pid), []).append(sample)
    exits: dict[tuple[int | None, int], float] = {}
    for line in records.timeline:
        if line.event == "child_exit":
            exits[line.child, line.details.get("pid", 0)] = line.time_s
    lives, last_s = [], records.timeline[-1].time_s if records.timeline else 0.0
    for (child, pid), samples in by_process.items():
        ended_s = last_s if child is None else exits.get((child, pid), 0.0)
        lives.append(_Life(child, samples, max(samples[-1].time_s, ended_s)))
    return lives


def _times(records: RunRecords, lives: Sequence[_Life], most: int | None) -> Curve:
    begins = [life.samples[0].time_s for life in lives]
    ends = [life.end_s + after_s for life in lives for after_s in (0.0, _TINY_S)]
    times = [sample.time_s for sample in records.samples]
    if most is not None and len(times) > most:
        highest = [max(life.samples, key=lambda sample: sample.pss_bytes) for life in lives]
        times = [*np.linspace(min(times), max(times), most), *(each.time_s for each in highest)]
    return distinct(np.array([*times, *begins, *ends]))
