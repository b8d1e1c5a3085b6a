"""Module types of the toy framework that can be replayed."""

from __future__ import annotations

from enum import Enum
from typing import Final

from msgspec import Struct

from forkrun.studies.replay.model import Concurrency, Kind, Work

PREFIX: Final = "demo::"
SOURCE_TYPES: Final = ("SimpleSource",)

THREAD_TYPES: Final = {
    "ThreadSafeBetweenInstances": Concurrency.REENTRANT,
    "ThreadSafeBetweenModules": Concurrency.ONE,
    "ThreadUnsafe": Concurrency.UNSAFE,
}


class Times(Enum):
    """Key with the time of a module."""

    PER_EVENT = "eventTimes"
    AVERAGE = "averageTime"
    FIXED = ""


class ModuleType(Struct, frozen=True):
    """`concurrency` None: from the key threadType. `consumes`: has the key toGet. `n_steps`: a
    fixed time, in steps of the busy wait's integration. `names_product`: has the key productLabel
    with the name of its product."""

    kind: Kind
    work: Work
    times: Times
    concurrency: Concurrency | None = None
    consumes: bool = True
    blocking_get: bool = False
    n_steps: int = 0
    names_product: bool = False


def _timed(kind: Kind, suffix: str) -> dict[str, ModuleType]:
    per_event, average = Times.PER_EVENT, Times.AVERAGE
    return {
        f"EventTimesBusyWait{suffix}": ModuleType(kind, Work.BUSY_WAIT, per_event),
        f"EventTimesSleeping{suffix}": ModuleType(kind, Work.SLEEP, per_event),
        f"EventTimesSyncGetBusyWait{suffix}": ModuleType(
            kind, Work.BUSY_WAIT, per_event, blocking_get=True
        ),
        f"EventTimesSyncGetSleeping{suffix}": ModuleType(
            kind, Work.SLEEP, per_event, blocking_get=True
        ),
        f"BusyWait{suffix}": ModuleType(kind, Work.BUSY_WAIT, average),
        f"Sleeping{suffix}": ModuleType(kind, Work.SLEEP, average),
        f"Fast{suffix}": ModuleType(kind, Work.NONE, Times.FIXED),
    }


MODULE_TYPES: Final[dict[str, ModuleType]] = {
    **_timed(Kind.PRODUCER, "Producer"),
    **_timed(Kind.FILTER, "PassFilter"),
    "SleepingWithAcquireProducer": ModuleType(Kind.PRODUCER, Work.EXTERNAL, Times.AVERAGE),
    "ThreadSafeProducer": ModuleType(
        Kind.PRODUCER,
        Work.BUSY_WAIT,
        Times.FIXED,
        Concurrency.REENTRANT,
        consumes=False,
        n_steps=100_000,
        names_product=True,
    ),
    "PassFilter": ModuleType(
        Kind.FILTER,
        Work.BUSY_WAIT,
        Times.FIXED,
        Concurrency.ONE,
        consumes=False,
        n_steps=10_000,
    ),
    "ThreadSaferGetterFilter": ModuleType(Kind.FILTER, Work.NONE, Times.FIXED, Concurrency.ONE),
}
