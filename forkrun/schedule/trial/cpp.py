"""Calls C++ modules with the first events, if undeclared modules read their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from forkrun import _core
from forkrun.config.modules import ModuleConfig
from forkrun.errors import ConfigError
from forkrun.formats.plain import Plain, part_of
from forkrun.schedule.trial.first_events import FirstEvents
from forkrun.schedule.variations import Wiring

_READER = "reader of the trial"
"""Label of the module that takes the columns."""


class CppModules(Struct, frozen=True):
    """C++ modules. `entries`, `wirings`: by label; `types`: of the columns that they make;
    `conditions`: of the core."""

    entries: Mapping[str, ModuleConfig]
    wirings: Mapping[str, Wiring]
    types: Mapping[str, str]
    seed: int
    conditions: Any

    def makers(self, name: str) -> list[str]:
        """Labels of modules that make a column."""
        return [k for k, w in self.wirings.items() if name in w.makes and name in self.types]

    def columns_of(self, label: str) -> list[str]:
        """Columns that a module makes."""
        return [name for name in self.wirings[label].makes if name in self.types]

    def call(
        self,
        label: str,
        types: Mapping[str, str],
        read: Mapping[str, Plain],
        events: FirstEvents,
        iov: int,
    ) -> dict[str, Plain]:
        """Columns that a module makes from `read`, the columns that it reads, with their `types`.
        Raises ConfigError if it needs more than columns."""
        entry, n = self.entries[label], len(events)
        inputs = [(name, types[name]) for name in read]
        reader = _Reader(self.columns_of(label))
        builder = _core.ScheduleBuilder(inputs, self.seed, self.conditions)
        builder.add_cpp_module(label, entry.type.removeprefix("cpp:"), entry.params)
        builder.add_python_module(_READER, "analyzer", reader, reader.names, {})
        builder.add_path("trial", [_READER])
        core = builder.compile()
        if not n:
            raise ConfigError("the job has no event to call it with")
        source = _core.python_source(
            _core.EventSource(columns=inputs, clusters=[[0, n]]),
            lambda ranges, name: _of(read[name], ranges), lambda _: _ids(events),
        )  # fmt: skip
        _process(core, source, _unit(events, core.wants_one_lumi(1), iov), n)
        return reader.columns


class _Reader:
    """An analyzer that keeps columns."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.columns: dict[str, Plain] = {}

    def analyze(self, block: _core.Block) -> None:
        self.columns = {name: _copied(block.column(name)) for name in self.names}


def _copied(column: Plain) -> Plain:
    if isinstance(column, tuple):
        return tuple(np.array(part) for part in column)
    return np.array(column)


def _of(column: Plain, ranges: Sequence[tuple[int, int, int]]) -> Plain:
    (_, first, last), *_ = ranges
    return part_of(column, first, last)


def _ids(events: FirstEvents) -> tuple[Plain, Plain, Plain]:
    run, lumi, first, last = np.array(events.lumis, np.uint64).reshape(-1, 4).T
    n = (last - first).astype(np.int64)
    return np.repeat(run, n), np.repeat(lumi, n), events.events


def _unit(events: FirstEvents, is_one_lumi: bool, iov: int) -> _core.UnitToDo:
    run, lumi, *_ = events.lumis[0]
    n, lumis = len(events), None if is_one_lumi else events.lumis_of_unit
    return _core.UnitToDo(0, run, lumi, [(0, 0, n)], {}, iov, True, lumis, n)


def _process(core: _core.Schedule, source: _core.Source, unit: _core.UnitToDo, n: int) -> None:
    settings = _core.ProcessorSettings(
        executor="serial", threads=1, concurrent_blocks=1, block_size=n
    )
    units = iter([unit])
    core.pre_fork()
    core.post_fork(0)
    processor = _core.Processor(core, source, settings, _core.StatusBoard(1), 0)
    core.begin_job()
    processor.run(lambda: next(units, None), lambda *_: None)
    processor.finish()
