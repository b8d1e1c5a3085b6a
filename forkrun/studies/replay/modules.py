"""Modules of a replay file: the types that can be replayed, and one module."""

from __future__ import annotations

from enum import Enum
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from forkrun.base.nearest import suggestion
from forkrun.studies.replay.model import (
    Concurrency,
    Kind,
    Product,
    ReplayModule,
    ReplayOptions,
    Work,
)
from forkrun.studies.replay.table import Table, as_number, shown

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


_UNKNOWN = {kind: ModuleType(kind, MODULE_TYPES["FastProducer"].work, Times.FIXED) for kind in Kind}


def read_module(table: Table, kind: Kind, options: ReplayOptions) -> ReplayModule:
    """Reads a producer or filter. Problems are noted in the table."""
    label = table.text("@label")
    table.name(f'{table.place} (label "{label}")' if label else table.place)
    name = table.text("@type")
    spec = _type(table, name, kind)
    return ReplayModule(
        label=label,
        kind=kind,
        type=name,
        concurrency=spec.concurrency or _concurrency(table),
        work=spec.work,
        blocking_get=spec.blocking_get,
        event_times_s=_times(table, spec, options),
        consumes=_consumes(table) if spec.consumes else (),
        produces=_produces(table, spec),
    )


def _type(table: Table, name: str, kind: Kind) -> ModuleType:
    spec = MODULE_TYPES.get(name.removeprefix(PREFIX))
    if spec is not None and spec.kind is kind:
        return spec
    known = [PREFIX + key for key, value in MODULE_TYPES.items() if value.kind is kind]
    if spec is not None:
        table.report("@type", f'"{name}" is a {spec.kind.value}: move it to {spec.kind.value}s')
    elif name:
        what = f'{kind.value} type "{name}" cannot be replayed'
        table.report("@type", what + suggestion(name, known))
    return _UNKNOWN[kind]


def _concurrency(table: Table) -> Concurrency:
    name = table.text("threadType")
    if name and name not in THREAD_TYPES:
        table.report("threadType", f'unknown thread type "{name}"{suggestion(name, THREAD_TYPES)}')
    return THREAD_TYPES.get(name, Concurrency.UNSAFE)


def _times(table: Table, spec: ModuleType, options: ReplayOptions) -> npt.NDArray[np.float64]:
    if spec.times is Times.PER_EVENT:
        values = _event_times(table)
    elif spec.times is Times.AVERAGE:
        values = [_average_time(table)]
    else:
        values = [spec.n_steps / options.busy_wait_scale_factor]
    times = np.array(values, dtype=np.float64)
    times.flags.writeable = False
    return times


def _event_times(table: Table) -> list[float]:
    items = table.items("eventTimes")
    if table.is_empty_list("eventTimes"):
        table.report("eventTimes", "at least one time in seconds is needed; [0] takes none")
    for i, item in enumerate(items):
        number = as_number(item)
        if number is None or number < 0:
            what = f"a time in seconds, 0 or more, is needed, not {shown(item)}"
            table.report(f"eventTimes[{i}]", what)
            return [0.0]  # one problem per list is enough
    return [float(item) for item in items] or [0.0]


def _average_time(table: Table) -> float:
    if table.number("maxTime", 0.0) > 0:
        what = "times that vary at random cannot be replayed; use a type with eventTimes, or remove"
        table.report("maxTime", f"{what} minTime and maxTime")
    return table.number("averageTime")


def _consumes(table: Table) -> tuple[Product, ...]:
    products = []
    for i, item in enumerate(table.items("toGet")):
        entry = table.entry(f"toGet[{i}]", item)
        products.append(Product(entry.text("label"), entry.text("product", "")))
    return tuple(dict.fromkeys(products))


def _produces(table: Table, spec: ModuleType) -> tuple[str, ...]:
    if spec.names_product:
        return (table.text("productLabel", ""),)
    return ("",) if spec.kind is Kind.PRODUCER else ()
