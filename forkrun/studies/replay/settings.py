"""Settings for running a replay file."""

from __future__ import annotations

import os
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from forkrun.errors import ConfigError
from forkrun.studies.replay.model import ReplayJob, Work

Mode = Literal["busywait", "fixedwork", "sleep", "async", "none"]
Get = Literal["prefetch", "blocking", "coroutine"]
ExecutorName = Literal["serial", "tbb", "dispatch"]

_BOUNDS = (
    ("events in flight", 10_000, "each has products of its own in memory"),
    ("threads", 4096, "each is a thread of one process"),
    ("children", 10_000, "each is a process of this one machine"),
    ("block size", 1_000_000_000, "a block lies in memory as a whole"),
)

_MODES: dict[Work, Mode] = {
    Work.BUSY_WAIT: "busywait",
    Work.SLEEP: "sleep",
    Work.EXTERNAL: "async",
    Work.NONE: "none",
}


class ReplaySettings(Struct, frozen=True):
    """Settings of a replay; None: from the file or the machine. `time_scale` : factor of all times.
    `always_tasks` : never uses plain calls, even if faster."""

    n_events: int | None = None
    events_in_flight: int | None = None
    n_threads: int | None = None
    executor: ExecutorName = "tbb"
    mode: Mode | None = None
    get: Get | None = None
    time_scale: float = 1.0
    n_children: int = 1
    block_size: int = 1
    always_tasks: bool = False

    def __post_init__(self) -> None:
        counts = {
            "iterations": self.n_events,
            "events in flight": self.events_in_flight,
            "threads": self.n_threads,
            "children": self.n_children,
            "block size": self.block_size,
        }
        problems = [
            f"replay: {name}: at least 1 is needed, not {count}"
            for name, count in counts.items()
            if count is not None and count < 1
        ]
        problems += [
            f"replay: {name}: at most {most:,}, not {counts[name]:,}: {why}"
            for name, most, why in _BOUNDS
            if (counts[name] or 0) > most
        ]
        if not 0 <= self.time_scale < float("inf"):
            problems.append(f"replay: time scale: a number from 0 on, not {self.time_scale}")
        if problems:
            raise ConfigError(problems)

    def completed(self, job: ReplayJob) -> ReplaySettings:
        """Completes the settings from the file or the machine; `mode` and `get` stay None if each
        module has its own."""
        is_serial = self.executor == "serial"
        n_threads = self.n_threads or job.options.n_threads or len(os.sched_getaffinity(0))
        in_flight = self.events_in_flight or job.options.events_in_flight
        return replace(
            self,
            n_events=self.n_events or job.source.n_events,
            events_in_flight=1 if is_serial else in_flight,
            n_threads=1 if is_serial else n_threads,
        )


def mode_of(work: Work) -> Mode:
    """Name of a kind of work on the command line."""
    return _MODES[work]
