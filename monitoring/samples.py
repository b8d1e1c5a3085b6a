"""Samples of processes, and their reading: there may be millions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import MsgspecError
from msgspec.json import Decoder

from forkrun.base.regular_file import open_regular
from forkrun.monitoring.process_reading import ProcessReading

MOST_SAMPLES = 200_000
"""Approximate maximum number of samples kept: a curve has a thousand points."""


class Sample(ProcessReading, frozen=True, kw_only=True):
    """One process at one time. `child` is None for the parent; `time_s` since the epoch.
    `complete`: number of the complete sample, of `n_sampled` processes; None: of this process
    alone. `own_cost_s`: CPU time of a process that sampled itself."""

    time_s: float
    child: int | None
    pid: int
    n_events_done: int
    complete: int | None = None
    n_sampled: int = 1
    own_cost_s: float = 0.0

    @property
    def cpu_s(self) -> float:
        """CPU time, user and system."""
        return self.cpu_user_s + self.cpu_system_s


def read_samples(path: Path, damaged: list[str]) -> list[Sample]:
    """Samples in the order of the file; if there are more than MOST_SAMPLES, every n-th and the
    extremes listed in `_Thinned`. `damaged` gets a text for each damaged line."""
    try:
        n_bytes = path.stat().st_size
        lines = _lines(path)
        first = next(lines, b"")
    except FileNotFoundError:
        return []
    n_expected = n_bytes // max(len(first), 1)
    samples = _decoded(path, damaged)
    if n_expected <= MOST_SAMPLES:
        return list(samples)
    return _Thinned(-(-n_expected // MOST_SAMPLES)).of(samples)


def _lines(path: Path) -> Iterator[bytes]:
    """Lines with their ends; an incomplete last one is still being written."""
    with os.fdopen(open_regular(path), "rb") as file:
        yield from (line for line in file if line.endswith(b"\n"))


def _decoded(path: Path, damaged: list[str]) -> Iterator[Sample]:
    decode = Decoder(Sample).decode
    for number, line in enumerate(_lines(path), start=1):
        try:
            if line != b"\n":
                yield decode(line)
        except MsgspecError as error:
            damaged.append(f"{path.name}: line {number} has an unexpected form ({error})")


class _Thinned:
    """Keeps every n-th complete sample, and every n-th single sample of each process. Also keeps
    the first, the last and the highest ones of each process; the complete sample with the highest
    sum, and the last one of several processes; samples that processes took of themselves. Memory is
    bounded by the kept samples."""

    def __init__(self, step: int) -> None:
        self._step = step
        self._kept: list[Sample] = []
        self._n_alone: dict[tuple[int | None, int], int] = {}
        self._last: dict[tuple[int | None, int], Sample] = {}
        self._highest: dict[tuple[int | None, int, str], Sample] = {}
        self._open: dict[int, list[Sample]] = {}
        self._peak: list[Sample] = []
        self._last_of_several: list[Sample] = []

    def of(self, samples: Iterator[Sample]) -> list[Sample]:
        """Returns the kept samples."""
        for sample in samples:
            self._add(sample)
        extremes = [*self._last.values(), *self._highest.values()]
        found = [*self._kept, *extremes, *self._peak, *self._last_of_several]
        return sorted({id(each): each for each in found}.values(), key=lambda each: each.time_s)

    def _add(self, sample: Sample) -> None:
        process = sample.child, sample.pid
        if process not in self._last or sample.own_cost_s or self._is_nth(sample):
            self._kept.append(sample)
        self._last[process] = sample
        for name in ("pss_bytes", "uss_bytes"):
            highest = self._highest.get((*process, name))
            if highest is None or getattr(sample, name) > getattr(highest, name):
                self._highest[*process, name] = sample
        if sample.complete is not None:
            self._complete(sample.complete, sample)

    def _is_nth(self, sample: Sample) -> bool:
        if sample.complete is not None:
            return sample.complete % self._step == 0
        process = sample.child, sample.pid
        self._n_alone[process] = n = self._n_alone.get(process, -1) + 1
        return n % self._step == 0

    def _complete(self, number: int, sample: Sample) -> None:
        group = self._open.setdefault(number, [])
        group.append(sample)
        if len(group) < sample.n_sampled:
            return
        self._open = {n: each for n, each in self._open.items() if n > number}
        if sum(s.pss_bytes for s in group) > sum(s.pss_bytes for s in self._peak):
            self._peak = group
        if len(group) > 1:
            self._last_of_several = group
