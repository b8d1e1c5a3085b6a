"""Samples memory, CPU time and reads of the parent and its children.

The sampler has no thread, since the parent must have only one until it has forked: the supervisor's
loop calls `tick` at any rate, and the sampler decides what to read. A complete sample is an
estimate of all processes in one go (`job_memory.py`): it costs 50 µs per process, and is written at
each new maximum, after each round of full readings, and at regular times. A full reading walks the
page table of a process, which takes milliseconds. So each child is read `first_reading_s` after its
fork and after its first events; then all of them in rounds, whenever the budget allows a whole one,
in slices of `slice_s` that keep the parent's loop responsive. Full readings and estimates take half
of `max_cost` of one CPU each, plus a one-time grant for the first ones. `ProcessReader` ensures
that no child is stopped for longer than `max_stop_s`.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from forkrun.base.durable import write_json
from forkrun.base.json_lines import JsonLines
from forkrun.monitoring.host import describe_host
from forkrun.monitoring.job_memory import (
    JobMemory,
    MemoryKinds,
    Moment,
    Process,
    note_kinds,
    read_kinds,
    total_bytes,
)
from forkrun.monitoring.process_reading import MAX_STOP_S, PROC, ProcessReading, read_process
from forkrun.rundir.directory import RunDirectory

_HIGHER = 1.03
"""Smallest ratio to the highest sum so far at which a sample is written."""
_LINES_PER_S = 10.0
"""Rate of lines written at regular times."""


class SamplerSettings(Struct, frozen=True):
    """Sampling rate. Times in seconds; `max_cost` is a fraction of one CPU. `is_exact`: every
    complete sample consists of simultaneous full readings, however long they take. `by_kind`: also
    reads the kinds of memory at the highest sums."""

    min_interval_s: float = 0.1
    max_cost: float = 0.006
    first_reading_s: float = 0.7
    readings_grant_s: float = 1.0
    estimates_grant_s: float = 0.1
    kinds_grant_s: float = 0.1
    slice_s: float = 0.05
    max_stop_s: float = MAX_STOP_S
    is_exact: bool = False
    by_kind: bool = False


class _Budget:
    """Budget of CPU time: a grant, and a part of the time since `start_s`."""

    def __init__(self, grant_s: float, rate: float) -> None:
        self._grant_s, self._rate = grant_s, rate
        self.start_s = 0.0
        self.spent_s = 0.0

    def affordable_at_s(self, cost_s: float = 0.0, *, is_granted: bool = True) -> float:
        """Time from which on the budget covers this cost as well."""
        over_s = self.spent_s + cost_s - (self._grant_s if is_granted else 0.0)
        return self.start_s + max(over_s, 0.0) / self._rate

    @contextlib.contextmanager
    def spending(self) -> Iterator[None]:
        """Charges the CPU time of the body to the budget."""
        begin_s = time.thread_time()
        yield
        self.spent_s += time.thread_time() - begin_s


class _Life:
    """A process since its fork. `n_before`: events done under its number at the first tick;
    `n_read`: events done at its last full reading, None without one."""

    def __init__(self, forked_s: float, is_child: bool = True) -> None:
        self.forked_s = forked_s
        self.n_before: int | None = None if is_child else -1
        self.n_read: int | None = None

    def has_done(self, n_done: int) -> bool:
        """Whether it has processed its first events."""
        if self.n_before is None:
            self.n_before = n_done
        return n_done > self.n_before


class Sampler:
    """Appends to `RUNDIR/monitoring/samples.jsonl`; make it in the parent.

    The supervisor calls `add_child` after each fork, `tick` in its loop, `remove_child` after
    waiting for a child, and `close` at the end. A child calls `sample_self` before it exits.
    `memory`: memory of all processes at any time.
    """

    def __init__(
        self,
        run_dir: Path,
        settings: SamplerSettings | None = None,
        *,
        parent_pid: int | None = None,
        proc: Path = PROC,
    ) -> None:
        """`proc`: root of the /proc tree; tests use recorded ones."""
        self._run_dir, self._proc = run_dir, proc
        self._settings = settings or SamplerSettings()
        is_exact = self._settings.is_exact
        self._parent: Process = (None, os.getpid() if parent_pid is None else parent_pid)
        max_stop_s = math.inf if is_exact else self._settings.max_stop_s
        self.memory = JobMemory(self._parent[1], proc, max_stop_s)
        self._lives = {self._parent[1]: _Life(-math.inf, is_child=False)}
        self._lines = JsonLines(RunDirectory(run_dir).samples)
        rate = self._settings.max_cost if is_exact else self._settings.max_cost / 2
        self._readings = _Budget(self._settings.readings_grant_s, rate)
        self._estimates = _Budget(self._settings.estimates_grant_s, rate)
        self._kinds = _Budget(self._settings.kinds_grant_s, rate)
        self._at_peak: list[MemoryKinds] = []
        self._kinds_bytes = 0.0
        self._left: list[Process] = []
        """Processes left to read in this round."""
        self._start_s: float | None = None
        self._due_s = 0.0
        self._written_s = -math.inf
        self._highest_bytes = 0
        self._n_readings = self._n_complete = self._n_samples = 0

    @property
    def cost_s(self) -> float:
        """CPU time [s] of sampling in the parent so far."""
        return self._readings.spent_s + self._estimates.spent_s + self._kinds.spent_s

    def add_child(self, child: int, pid: int, now_s: float | None = None) -> None:
        """Follows a new child, or a new process with the same number."""
        self.memory.add_child(child, pid)
        self._lives[pid] = _Life(time.time() if now_s is None else now_s)

    def remove_child(self, child: int) -> None:
        """Stops following a child."""
        pid = self.memory.remove_child(child)
        self._lives.pop(pid, None)
        self._left = [process for process in self._left if process[1] != pid]

    def tick(self, now_s: float, n_events_done: Mapping[int, int] | None = None) -> bool:
        """Makes the readings that are due; returns whether it wrote a complete sample.

        now_s: seconds since the epoch. n_events_done: by child, from the status board."""
        if now_s < self._due_s:
            return False
        self._begin(now_s)
        done = n_events_done or {}
        if self._settings.is_exact:
            return self._sample_exactly(now_s, done)
        with self._estimates.spending():
            total = total_bytes(self.memory.estimate())
        with self._readings.spending():
            is_round_done = self._read_due(now_s, done)
        is_written = is_round_done or self._is_worth_writing(total, now_s)
        if is_written:
            with self._estimates.spending():
                self._write(now_s, self.memory.readings(), done)
        pause_s = 0.0 if self._left else self._settings.min_interval_s
        self._due_s = max(now_s + pause_s, self._estimates.affordable_at_s())
        return is_written

    def _begin(self, now_s: float) -> None:
        """Reads the parent alone at the first tick: children begin with its shared memory."""
        if self._start_s is None:
            self._start_s = self._readings.start_s = self._estimates.start_s = now_s
            self._kinds.start_s = now_s
            write_json(RunDirectory(self._run_dir).host, describe_host())
            self._read_parent()

    def _read_parent(self) -> None:
        with self._readings.spending():
            self.memory.estimate()  # finds the processes
            self.memory.read(self._parent)
            self.memory.note_in_common()
        self._n_readings += 1

    def _sample_exactly(self, now_s: float, done: Mapping[int, int]) -> bool:
        """Takes a sample, unless a child begins or ends meanwhile: memory shared between different
        numbers of processes cannot be added up."""
        with self._readings.spending():
            before = self.memory.processes
            found = {each: reading for each in before if (reading := self.memory.read(each))}
            is_complete = len(before) == len(found) == len(self.memory.estimate())
            if is_complete:
                self._write(now_s, found, done)
        self._n_readings += len(found)
        each_s = self._readings.spent_s / max(self._n_readings, 1)
        again_s = self._readings.affordable_at_s(each_s * len(found))
        self._due_s = max(now_s + self._settings.min_interval_s, again_s)
        return is_complete

    def _read_due(self, now_s: float, done: Mapping[int, int]) -> bool:
        """Reads processes in full until the slice is used up. Returns whether a round is finished,
        and all processes have been read."""
        self._left = self._left or self._due(now_s, done)
        end_s = time.thread_time() + self._settings.slice_s
        n_before = self._n_readings
        while self._left and (self._n_readings == n_before or time.thread_time() < end_s):
            child, pid = self._left.pop(0)
            self._lives[pid].n_read = _n_done(child, done)
            self.memory.read((child, pid))
            self._n_readings += 1
        if not self._left:
            self.memory.note_in_common()
        has_read_all = all(life.n_read is not None for life in self._lives.values())
        return self._n_readings > n_before and not self._left and has_read_all

    def _due(self, now_s: float, done: Mapping[int, int]) -> list[Process]:
        """Processes due for a first reading or the one after their first events, as many as the
        budget allows; else all, if it allows that."""
        processes = self.memory.processes
        each_s = self._readings.spent_s / max(self._n_readings, 1)
        first = self._first(processes, now_s, done)
        while first and self._readings.affordable_at_s(each_s * len(first)) > now_s:
            first.pop()
        round_s = self._readings.affordable_at_s(each_s * len(processes), is_granted=False)
        is_round_due = round_s <= now_s and all(
            life.n_read is not None for life in self._lives.values()
        )
        return first or (processes if is_round_due else [])

    def _first(
        self, processes: list[Process], now_s: float, done: Mapping[int, int]
    ) -> list[Process]:
        """Unread processes, once all of them have begun; else those not read since their first
        events, once all of them have done some. Until then, shared memory of children changes, and
        so does the parent's."""
        lives = [(each, self._lives[each[1]]) for each in processes]
        have_done = {each: life.has_done(_n_done(each[0], done)) for each, life in lives}
        begun_by_s = now_s - self._settings.first_reading_s
        unread = [each for each, life in lives if life.n_read is None]
        if unread:
            begun = {each for each, life in lives if life.forked_s <= begun_by_s}
            first = unread if all(e in begun or have_done[e] for e in unread) else []
        else:
            early = [each for each, life in lives if life.n_read == life.n_before]
            first = early if all(have_done[each] for each in early) else []
        return [processes[0], *(each for each in first if each != processes[0])] if first else []

    def _is_worth_writing(self, total_bytes: int, now_s: float) -> bool:
        """Whether there is more memory than in any sample before, or the last sample is long
        ago."""
        interval_s = max(self._settings.min_interval_s, len(self._lives) / _LINES_PER_S)
        is_late = now_s >= self._written_s + interval_s
        return is_late or total_bytes > _HIGHER * self._highest_bytes

    def close(self, now_s: float | None = None) -> None:
        """Takes a last sample, and writes the sampler's own cost."""
        now_s = time.time() if now_s is None else now_s
        self._begin(now_s)
        self._read_parent()
        with self._estimates.spending():
            self._write(now_s, self.memory.readings(), {})
        self._lines.close()
        if self._at_peak:
            note_kinds(self._run_dir, self._at_peak)
        elapsed_s = now_s - (self._start_s or now_s)
        stop_s = self.memory.longest_stop_s
        cost = sampler_cost(self.cost_s, elapsed_s, self._n_samples, stop_s)
        write_json(RunDirectory(self._run_dir).sampler, cost)

    def _write(
        self, now_s: float, readings: Mapping[Process, ProcessReading], done: Mapping[int, int]
    ) -> None:
        """Writes the readings as a complete sample."""
        among = self._n_complete, len(readings)
        self._lines.append(
            [_line(now_s, *process, reading, done, among) for process, reading in readings.items()]
        )
        total = sum(reading.pss_bytes for reading in readings.values())
        if self._settings.by_kind:
            self._read_kinds(total, now_s)
        self._highest_bytes = max(self._highest_bytes, total)
        self._written_s = now_s
        self._n_complete += 1
        self._n_samples += len(readings)

    def _read_kinds(self, total: int, now_s: float) -> None:
        """Reads the kinds of memory if there is more of it than at the last time."""
        if total < _HIGHER * self._kinds_bytes or self._kinds.affordable_at_s() > now_s:
            return
        with self._kinds.spending():
            processes = self.memory.processes
            found = [each for of in processes for each in read_kinds(Moment.PEAK, *of, self._proc)]
        if len(found) == len(processes):
            self._at_peak, self._kinds_bytes = found, total


def _n_done(child: int | None, done: Mapping[int, int]) -> int:
    return 0 if child is None else done.get(child, 0)


def sample_self(run_dir: Path, child: int, n_events_done: int = 0) -> None:
    """Samples a child's memory from the child itself just before it exits, when the parent would
    only succeed by luck. The samples file is reopened; one short append needs no lock."""
    start_s = time.thread_time()
    pid = os.getpid()
    reading = read_process(pid)
    if reading:
        line = _line(time.time(), child, pid, reading, {child: n_events_done}, (None, 1))
        line["own_cost_s"] = time.thread_time() - start_s
        with JsonLines(RunDirectory(run_dir).samples) as lines:
            lines.append([line])


def sampler_cost(
    cost_s: float, elapsed_s: float, n_samples: int, longest_stop_s: float
) -> dict[str, Any]:
    """The sampler's own cost: CPU time of the parent [s] and its fraction of one CPU; the longest
    time for which it locked the memory of a child [s]."""
    fraction = cost_s / elapsed_s if elapsed_s > 0 else None
    return {
        "cpu_s": cost_s,
        "elapsed_s": elapsed_s,
        "cpu_fraction": fraction,
        "n_samples": n_samples,
        "longest_stop_s": longest_stop_s,
    }


def _line(
    now_s: float,
    child: int | None,
    pid: int,
    reading: ProcessReading,
    n_events_done: Mapping[int, int],
    among: tuple[int | None, int],
) -> dict[str, Any]:
    """Line of a sample. `among`: number of the complete sample, and number of its processes."""
    return {
        "time_s": now_s,
        "role": "parent" if child is None else "child",
        "child": child,
        "pid": pid,
        **asdict(reading),
        "n_events_done": _n_done(child, n_events_done),
        "complete": among[0],
        "n_sampled": among[1],
    }
