"""Content of a replay file, as plain frozen values."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct


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
