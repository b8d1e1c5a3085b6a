"""Loads what a plan needs, before the fork."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any, Protocol

import numpy.typing as npt

from forkrun.base.lumis import lumi_keys
from forkrun.base.nearest import suggestion
from forkrun.base.progress import make_progress
from forkrun.conditions.iov import IovTable, make_iov_table
from forkrun.conditions.loading import Payload, load_payload
from forkrun.conditions.snapshots import Conditions
from forkrun.conditions.sources import ConditionSource, make_source
from forkrun.config.conditions import ConditionConfig, PrefetchConfig
from forkrun.errors import ConfigError
from forkrun.fork.hazards import step


class PlannedUnits(Protocol):
    """`run`, `lumi`, `n_events` : (n_units,) of the units of a plan, in its order."""

    @property
    def run(self) -> npt.NDArray[Any]: ...
    @property
    def lumi(self) -> npt.NDArray[Any]: ...
    @property
    def n_events(self) -> npt.NDArray[Any]: ...


def prefetch_conditions(
    configs: Sequence[ConditionConfig],
    prefetch: PrefetchConfig,
    units: PlannedUnits,
    n_iovs_in_flight: int = 1,
    quiet: bool = True,
) -> Conditions:
    """The conditions of a job, with every payload that its units need, except those excluded from
    prefetching. Of these a process keeps the payloads of the IOVs in flight, and one more: the next
    is prepared before the first has ended. Raises ConfigError with everything that is wrong. Starts
    no thread."""
    problems = _pattern_problems(prefetch, configs)
    sources, source_problems = _make_sources(configs)
    table, missing = _table(units, sources)
    wanted = sorted(_wanted(sources, table, prefetch))
    payloads, load_problems = _load(sources, wanted, quiet)
    problems += [*source_problems, *missing, *load_problems]
    if problems:
        raise ConfigError(problems)
    return Conditions(sources, table, payloads, n_iovs_in_flight + 1)


def _pattern_problems(prefetch: PrefetchConfig, configs: Sequence[ConditionConfig]) -> list[str]:
    labels = [config.label for config in configs]
    return [
        f'prefetch.exclude: no condition is called "{pattern}"' + suggestion(pattern, labels)
        for pattern in prefetch.exclude
        if not any(fnmatchcase(label, pattern) for label in labels)
    ]


def _make_sources(
    configs: Iterable[ConditionConfig],
) -> tuple[list[ConditionSource], list[str]]:
    sources, problems = [], []
    for config in configs:
        try:
            sources.append(make_source(config))
        except ConfigError as error:
            problems += error.problems
    return sources, problems


def _table(units: PlannedUnits, sources: Sequence[ConditionSource]) -> tuple[IovTable, list[str]]:
    iovs = {source.label: source.iovs for source in sources}
    return make_iov_table(lumi_keys(units.run, units.lumi), units.n_events, iovs)


def _wanted(
    sources: Sequence[ConditionSource], table: IovTable, prefetch: PrefetchConfig
) -> set[tuple[str, int]]:
    """Label and payload number of all that is to be loaded; without any event what is always
    valid."""
    wanted = set()
    for source in sources:
        if any(fnmatchcase(source.label, pattern) for pattern in prefetch.exclude):
            continue
        numbers = {row[source.label] for row in table.intervals}
        if not table.intervals and len(source.payloads) == 1:
            numbers = {0}
        wanted |= {(source.label, source.payload_of[number]) for number in numbers if number >= 0}
    return wanted


def _load(
    sources: Sequence[ConditionSource], wanted: Sequence[tuple[str, int]], quiet: bool
) -> tuple[dict[tuple[str, int], Payload], list[str]]:
    by_label = {source.label: source for source in sources}
    payloads: dict[tuple[str, int], Payload] = {}
    problems: list[str] = []
    progress = make_progress(len(wanted), "payloads", quiet or not wanted)
    try:
        for n_done, (label, number) in enumerate(wanted, start=1):
            try:
                with step(f'condition "{label}" was loaded'):
                    payloads[label, number] = load_payload(by_label[label], number)
            except ConfigError as error:
                problems += error.problems
            progress.update(n_done)
    finally:
        progress.close()
    return payloads, problems
