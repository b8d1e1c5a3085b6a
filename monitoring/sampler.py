"""Samples memory, CPU time and reads of the parent and its children.

The sampler has no thread, since the parent must have only one until it has forked: the supervisor's
loop calls `tick` as often as it likes, and the sampler decides when to look. Reading
`smaps_rollup` walks a process's page tables, which costs about 10 ms per GB; so the interval grows
until all samples together cost less than `max_cost` of one CPU. A short job gets `grant_s` of CPU
time for its first samples: with the defaults the sum is below 1 % of a CPU from 8 s on.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from forkrun.monitoring.host import describe_host
from forkrun.monitoring.jsonl import JsonLines
from forkrun.monitoring.process_reading import PROC, read_process


@dataclass(frozen=True)
class SamplerSettings:
    """How often to look. Times in seconds; `max_cost` is a fraction of one CPU."""

    min_interval_s: float = 0.1
    max_cost: float = 0.0075
    grant_s: float = 0.02


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
        self._proc = proc
        self._parent_pid = os.getpid() if parent_pid is None else parent_pid
        self._children: dict[int | None, int] = {}
        self._lines = JsonLines(_samples_path(run_dir))
        self._start_s: float | None = None
        self._last_s = 0.0
        self._due_s = 0.0
        self._cost_s = 0.0
        self._n_samples = 0
        _write_json(run_dir / "monitoring" / "host.json", describe_host())

    @property
    def cost_s(self) -> float:
        """CPU time [s] that sampling took in the parent so far."""
        return self._cost_s

    def add_child(self, child: int, pid: int, now_s: float | None = None) -> None:
        """Follows a new child (or the next process of the same number) and takes its
        first sample."""
        self._children[child] = pid
        self._sample({child: pid}, time.time() if now_s is None else now_s, {})

    def remove_child(self, child: int) -> None:
        """Stops following a child."""
        self._children.pop(child, None)

    def tick(self, now_s: float, n_events_done: Mapping[int, int] | None = None) -> bool:
        """Takes a sample of every process if one is due; says whether it did.

        now_s: seconds since the epoch. n_events_done: by child, from the status board."""
        if now_s < self._due_s:
            return False
        self._sample({None: self._parent_pid, **self._children}, now_s, n_events_done or {})
        self._due_s = self._next_s(now_s)
        return True

    def close(self, now_s: float | None = None) -> None:
        """Takes a last sample of the parent and writes the sampler's own cost."""
        now_s = time.time() if now_s is None else now_s
        self._sample({None: self._parent_pid}, now_s, {})
        self._lines.close()
        cost = sampler_cost(self._cost_s, self._elapsed_s(now_s), self._n_samples)
        _write_json(self._run_dir / "monitoring" / "sampler.json", cost)

    def _sample(
        self, processes: Mapping[int | None, int], now_s: float, n_events_done: Mapping[int, int]
    ) -> None:
        start_s = time.thread_time()
        if self._start_s is None:
            self._start_s = now_s
        lines = [
            line
            for child, pid in processes.items()
            if (line := _line(now_s, child, pid, self._proc, _done(n_events_done, child)))
        ]
        self._lines.append(lines)
        self._n_samples += len(lines)
        self._cost_s += time.thread_time() - start_s

    def _next_s(self, now_s: float) -> float:
        """When the next sample may be taken: `cost <= grant + max_cost * elapsed` holds then."""
        settings = self._settings
        start_s = now_s if self._start_s is None else self._start_s
        affordable_s = start_s + (self._cost_s - settings.grant_s) / settings.max_cost
        return max(now_s + settings.min_interval_s, affordable_s)

    def _elapsed_s(self, now_s: float) -> float:
        return 0.0 if self._start_s is None else now_s - self._start_s


def sample_self(run_dir: Path, child: int, n_events_done: int = 0) -> None:
    """Called by a child just before it exits: the last look at its memory, which the parent could
    only take by luck. The samples file is opened anew; one short append needs no lock."""
    line = _line(time.time(), child, os.getpid(), PROC, n_events_done)
    if line:
        with JsonLines(_samples_path(run_dir)) as lines:
            lines.append([line])


def sampler_cost(cost_s: float, elapsed_s: float, n_samples: int) -> dict[str, Any]:
    """The sampler's own cost: CPU time of the parent [s] and its fraction of one CPU."""
    fraction = cost_s / elapsed_s if elapsed_s > 0 else None
    return {
        "cpu_s": cost_s,
        "elapsed_s": elapsed_s,
        "cpu_fraction": fraction,
        "n_samples": n_samples,
    }


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def _samples_path(run_dir: Path) -> Path:
    return run_dir / "monitoring" / "samples.jsonl"


def _done(n_events_done: Mapping[int, int], child: int | None) -> int:
    return 0 if child is None else n_events_done.get(child, 0)


def _line(
    now_s: float, child: int | None, pid: int, proc: Path, n_events_done: int
) -> dict[str, Any] | None:
    reading = read_process(pid, proc)
    if reading is None:
        return None
    who = {"time_s": now_s, "role": "parent" if child is None else "child", "child": child}
    return {**who, "pid": pid, **asdict(reading), "n_events_done": n_events_done}
