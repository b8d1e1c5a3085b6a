"""Content of a replay file, and settings for running it, as plain frozen values."""

from __future__ import annotations

import os
from enum import Enum
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from forkrun.errors import ConfigError


class Kind(Enum):
    """Kind of a module."""

    PRODUCER = "producer"
    FILTER = "filter"


class Concurrency(Enum):
    """Number of simultaneous calls that a module allows (docs/architecture.md)."""

    REENTRANT = "reentrant"
    ONE = "one"
    UNSAFE = "unsafe"


class Work(Enum):
    """Kind of work in a module."""

    BUSY_WAIT = "busywait"
    SLEEP = "sleep"
    EXTERNAL = "external"
    NONE = "none"


class Product(NamedTuple):
    """Product requested by a module: the producer's label and the product's name, mostly empty."""

    label: str
    product: str


class ReplayModule(Struct, frozen=True, eq=False):
    """A module that takes its time and does nothing else.

    `event_times_s` : (n,) float64 [s], n >= 1, read-only; event i takes element i modulo n.
    `consumes` : in the file's order, without repetition. `produces` : names of its products; empty
    for a filter. `blocking_get` : requests its products one by one while it runs, instead of
    before."""

    label: str
    kind: Kind
    type: str
    concurrency: Concurrency
    work: Work
    blocking_get: bool
    event_times_s: npt.NDArray[np.float64]
    consumes: tuple[Product, ...]
    produces: tuple[str, ...]


class ReplayOptions(Struct, frozen=True):
    """`n_threads` None: one per core. `busy_wait_scale_factor`: steps of the numeric integration
    per second on the machine that the file was made for."""

    events_in_flight: int = 1
    n_threads: int | None = None
    busy_wait_scale_factor: float = 2.2e7


class ReplaySource(Struct, frozen=True):
    """Source of events: only their number matters here."""

    type: str
    n_events: int


class ReplayPath(Struct, frozen=True):
    """Labels of filters in their order of execution."""

    name: str
    filters: tuple[str, ...]


class ReplayJob(Struct, frozen=True):
    """A whole file. Labels are unique, every consumed product has its producer, and no module
    depends on itself. `modules` : producers, then filters, in the file's order."""

    name: str
    options: ReplayOptions
    source: ReplaySource
    modules: tuple[ReplayModule, ...]
    paths: tuple[ReplayPath, ...]


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
