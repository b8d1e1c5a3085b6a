"""Samples memory, CPU time and reads of the parent and its children.

The sampler has no thread, since the parent must have only one until it has forked: the
supervisor's loop calls `tick` as often as it likes, and the sampler decides whom to read. Reading
the memory of a process walks its page tables, which costs 10 to 20 ms per GB. So a complete
sample is taken process by process, in slices of `slice_s` that keep the parent's loop free, and
slices wait until all reading together costs less than `max_cost` of one CPU, whatever the memory.
A short job gets `grant_s` of CPU time for its first samples, and `complete_grant_s` in all to bring
a complete sample to its end, since half of one says nothing: with the defaults the sum is below 1 %
of a CPU from 15 s on. `ProcessReader` ensures that no child is stopped for longer than
`max_stop_s`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from forkrun.base.durable import write_json
from forkrun.base.json_lines import JsonLines
from forkrun.monitoring.host import describe_host
from forkrun.monitoring.process_reading import (
    MAX_STOP_S,
    PROC,
    ProcessReader,
    ProcessReading,
    read_process,
)
from forkrun.rundir.directory import RunDirectory


class SamplerSettings(Struct, frozen=True):
    """How often to sample. Times in seconds; `max_cost` is a fraction of one CPU."""

    min_interval_s: float = 0.1
    max_cost: float = 0.006
    grant_s: float = 0.02
    complete_grant_s: float = 0.04
    slice_s: float = 0.02
    max_stop_s: float = MAX_STOP_S


class CompleteSample(Struct, frozen=True):
    """All processes, read one after the other. `left`: those still to be read."""

    number: int
    pids: tuple[int, ...]
    left: list[tuple[int | None, int]]

    @property
    def n_sampled(self) -> int:
        return len(self.pids)


def _complete_sample(number: int, processes: list[tuple[int | None, int]]) -> CompleteSample:
    return CompleteSample(number, tuple(pid for _, pid in processes), processes)


class Sampler:
    """Appends to `RUNDIR/monitoring/samples.jsonl`; make it in the parent.

    The supervisor calls `add_child` after each fork, `tick` in its loop, `remove_child` when a
    child has been waited for, and `close` at the end. A child calls `sample_self` before it exits.
    """

    def __init__(
        self,
        run_dir: Path,
        settings: SamplerSettings | None = None,
        *,
        parent_pid: int | None = None,
        proc: Path = PROC,
    ) -> None:
        """`proc` is the root of the /proc tree, an argument so that tests read recorded ones."""
        self._run_dir = run_dir
        self._settings = settings or SamplerSettings()
        self._parent = ProcessReader(proc, max_stop_s=float("inf"))  # It waits for itself.
        self._reader = ProcessReader(proc, self._settings.max_stop_s)
        self._parent_pid = os.getpid() if parent_pid is None else parent_pid
        self._children: dict[int, int] = {}
        self._lines = JsonLines(RunDirectory(run_dir).samples)
        self._complete = _complete_sample(-1, [])
        self._start_s: float | None = None
        self._due_s = 0.0
        self._cost_s = 0.0
        self._last_cost_s = 0.0
        self._n_samples = 0
        self._has_host = False

    @property
    def cost_s(self) -> float:
        """CPU time [s] that sampling took in the parent so far."""
        return self._cost_s

    def add_child(self, child: int, pid: int, now_s: float | None = None) -> None:
        """Follows a new child (or the next process of the same number) and takes its
        first sample, unless there are so many that this would cost too much."""
        self._children[child] = pid
        now_s = time.time() if now_s is None else now_s
        if self._affordable_s(now_s) <= now_s:
            self._sample([(child, pid)], now_s, {}, complete=None)

    def remove_child(self, child: int) -> None:
        """Stops following a child."""
        self._children.pop(child, None)

    def tick(self, now_s: float, n_events_done: Mapping[int, int] | None = None) -> bool:
        """Begins a complete sample if one is due, or continues it; returns whether it did.

        now_s: seconds since the epoch. n_events_done: by child, from the status board."""
        if now_s < self._due_s:
            return False
        if not self._has_host:
            self._describe_host()
        if not self._complete.left:
            processes = [(None, self._parent_pid), *self._children.items()]
            self._complete = _complete_sample(self._complete.number + 1, processes)
        self._sample(self._complete.left, now_s, n_events_done or {}, self._complete)
        pause_s = 0.0 if self._complete.left else self._settings.min_interval_s
        self._due_s = max(now_s + pause_s, self._affordable_s(now_s))
        return True

    def _describe_host(self) -> None:
        self._has_host = True
        write_json(RunDirectory(self._run_dir).host, describe_host())

    def close(self, now_s: float | None = None) -> None:
        """Takes a last sample of the parent, if that does not cost too much, and writes the
        sampler's own cost."""
        if not self._has_host:
            self._describe_host()
        now_s = time.time() if now_s is None else now_s
        if self._affordable_s(now_s) <= now_s:
            last = _complete_sample(self._complete.number + 1, [(None, self._parent_pid)])
            self._sample(last.left, now_s, {}, last)
        self._lines.close()
        elapsed_s = 0.0 if self._start_s is None else now_s - self._start_s
        stop_s = self._reader.longest_stop_s
        cost = sampler_cost(self._cost_s, elapsed_s, self._n_samples, stop_s)
        write_json(RunDirectory(self._run_dir).sampler, cost)

    def _sample(
        self,
        processes: list[tuple[int | None, int]],
        now_s: float,
        n_events_done: Mapping[int, int],
        complete: CompleteSample | None,
    ) -> None:
        """Reads processes, and takes them from the list, until the slice is used up."""
        start_s = time.thread_time()
        if self._start_s is None:
            self._start_s = now_s
        lines: list[dict[str, Any]] = []
        while processes and (not lines or time.thread_time() < start_s + self._settings.slice_s):
            child, pid = processes.pop(0)
            reading = self._read(child, pid, complete)
            if reading:
                is_whole = processes or (complete and self._are_there(complete))
                among = complete if is_whole else None
                lines.append(_line(now_s, child, pid, reading, n_events_done, among))
        self._lines.append(lines)
        self._n_samples += len(lines)
        self._last_cost_s = time.thread_time() - start_s
        self._cost_s += self._last_cost_s

    def _read(
        self, child: int | None, pid: int, complete: CompleteSample | None
    ) -> ProcessReading | None:
        if child is None:
            return self._parent.read(pid)
        if self._children.get(child) != pid:  # It has ended since the complete sample began.
            return None
        return self._reader.read(pid, complete.n_sampled if complete else 1 + len(self._children))

    def _are_there(self, complete: CompleteSample) -> bool:
        """Whether those that share memory were the same all the time. Else the last process that
        was read is written as a sample of itself alone, and that of the others stays incomplete:
        what one of them shared with more processes than another cannot be added up."""
        same = {self._parent_pid, *self._children.values()} == set(complete.pids)
        return same and all(self._reader.has_memory(pid) for pid in complete.pids)

    def _affordable_s(self, now_s: float) -> float:
        """Time from which `cost <= grant + max_cost * elapsed` holds, also after the next slice. A
        complete sample that has begun continues as soon as it held before."""
        settings = self._settings
        start_s = now_s if self._start_s is None else self._start_s
        over_s = self._cost_s + self._last_cost_s - settings.grant_s
        if self._complete.left:
            over_s = min(over_s, self._cost_s - settings.complete_grant_s)
        return start_s + over_s / settings.max_cost


def sample_self(run_dir: Path, child: int, n_events_done: int = 0) -> None:
    """Called by a child just before it exits: the last sample of its memory, which the parent could
    only take by luck. The samples file is opened anew; one short append needs no lock."""
    start_s = time.thread_time()
    pid = os.getpid()
    reading = read_process(pid)
    if reading:
        line = _line(time.time(), child, pid, reading, {child: n_events_done}, None)
        line["own_cost_s"] = time.thread_time() - start_s
        with JsonLines(RunDirectory(run_dir).samples) as lines:
            lines.append([line])


def sampler_cost(
    cost_s: float, elapsed_s: float, n_samples: int, longest_stop_s: float
) -> dict[str, Any]:
    """The sampler's own cost: CPU time of the parent [s] and its fraction of one CPU; the longest
    time for which it kept the memory of a child locked [s]."""
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
    complete: CompleteSample | None,
) -> dict[str, Any]:
    return {
        "time_s": now_s,
        "role": "parent" if child is None else "child",
        "child": child,
        "pid": pid,
        **asdict(reading),
        "n_events_done": 0 if child is None else n_events_done.get(child, 0),
        "complete": complete and complete.number,
        "n_sampled": complete.n_sampled if complete else 1,
    }
