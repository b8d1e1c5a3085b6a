"""Modules of a replay file: typed access to its JSON objects, which notes all problems; the types
that can be replayed, and one module."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Final

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

Json = Any
_WORDS = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}


def say_type(value: Json) -> str:
    """`a list`, `the number 3`, `null`."""
    if value is None:
        return "null"
    return _WORDS.get(type(value)) or f"the number {value}"


def shown(value: Json) -> str:
    """A text in quotation marks; the type of any other value."""
    return f'"{value}"' if isinstance(value, str) else say_type(value)


class Table:
    """A JSON object and its place in the file. A missing or wrong value becomes a problem and a
    harmless default, so that all problems of a file appear in one list."""

    def __init__(self, values: Json, place: str, problems: list[str]) -> None:
        self.place = place
        self._problems = problems
        self._values: Mapping[str, Json] = values if isinstance(values, dict) else {}
        self._broken = not isinstance(values, dict)
        if self._broken:
            self.report("", f"an object in braces is needed, not {say_type(values)}")

    def report(self, key: str, what: str) -> None:
        """Notes a problem of a key or of the object itself."""
        self._problems.append(f"{self.at(key)}: {what}")

    def at(self, key: str) -> str:
        """Place of a key."""
        return f"{self.place}.{key}" if self.place and key else self.place or key

    def name(self, place: str) -> None:
        """Sets the place at which problems are reported from now on."""
        self.place = place

    def text(self, key: str, default: str | None = None) -> str:
        """Returns a non-empty text."""
        value = self._get(key, default)
        if isinstance(value, str) and (value or default is not None):
            return value
        self._wrong(key, value, "a text that is not empty")
        return ""

    def number(self, key: str, default: float | None = None, least: float = 0.0) -> float:
        """Returns a finite number. Like the toy framework, accepts numbers in texts."""
        value = self._get(key, default)
        number = as_number(value)
        if number is not None and number >= least:
            return number
        self._wrong(key, value, f"a number from {least:g} on")
        return least

    def count(self, key: str, default: int | None = None, least: int = 0) -> int:
        """Returns a whole number."""
        value = self._get(key, default)
        number = as_number(value)
        if number is not None and number.is_integer() and number >= least:
            return int(number)
        self._wrong(key, value, f"a whole number from {least} on")
        return least

    def items(self, key: str) -> list[Json]:
        """Returns a list."""
        value = self._get(key, None)
        if isinstance(value, list):
            return value
        self._wrong(key, value, "a list")
        return []

    def is_empty_list(self, key: str) -> bool:
        """Whether the key has a list without elements."""
        return self._values.get(key) == []

    def table(self, key: str, optional: bool = False) -> Table:
        """Returns an object."""
        if key in self._values or optional:
            return Table(self._values.get(key, {}), self.at(key), self._problems)
        self._wrong(key, _MISSING, "an object in braces")
        return Table({}, self.at(key), [])

    def entry(self, key: str, value: Json) -> Table:
        """Returns an object in a list of this one."""
        return Table(value, self.at(key), self._problems)

    def pairs(self) -> Iterator[tuple[str, Json]]:
        """Yields every key with its value, in the file's order."""
        yield from self._values.items()

    def _get(self, key: str, default: Json) -> Json:
        return self._values.get(key, _MISSING if default is None else default)

    def _wrong(self, key: str, value: Json, needed: str) -> None:
        if value is not _MISSING:
            self.report(key, f"{needed} is needed, not {shown(value)}")
        elif not self._broken:
            near = suggestion(key, self._values) if self._values else ""
            self.report(key, f"this key is required ({needed}){near}")


_MISSING: Json = object()


def as_number(value: Json) -> float | None:
    """A finite number, also from a text; None for all other values."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


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
