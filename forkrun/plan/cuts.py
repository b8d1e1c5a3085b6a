"""Where the blocks of a plan end: modules that get few events in a call take most of their time for
the fixed cost of a call. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from forkrun.base.lumis import Integers
from forkrun.base.quantities import plural
from forkrun.config.choices import Distribution
from forkrun.config.model import ForkingConfig, JobConfig
from forkrun.plan.model import Plan

Flags = npt.NDArray[np.bool_]
FEW = 500
"""Events of a call that cost less than the call, on average."""
MANY_CALLS = 200
"""Calls from which they are worth a word."""
_BLOCK = 65_536
"""Events of a block that nothing else cuts."""
_MOST_FILES = 16
"""Files of a block (cut_into_blocks.cpp)."""


def borders(plan: Plan, iovs: npt.NDArray[Any] | None, one_lumi: bool) -> dict[str, Flags]:
    """By reason, (n_units,) whether blocks cannot continue from the unit before: both are of one
    dataset, of one IOV and, with `one_lumi`, of one lumi. `iovs`: (n_units,), None where they are
    not known."""
    keys: dict[str, npt.NDArray[Any]] = {}
    if plan.datasets:
        keys["dataset"] = plan.dataset_of_units
    if iovs is not None:
        keys["iov"] = iovs
    if one_lumi:
        keys["lumi"] = plan.units.lumi_key
    return {reason: _differs(key) for reason, key in keys.items()}


def _differs(key: npt.NDArray[Any]) -> Flags:
    differs: Flags = np.diff(key, prepend=key[:1]) != 0
    return differs


class Cuts(Struct, frozen=True, dict=True):
    """Where the blocks of a plan end. `at`: by reason, for each unit whether it cannot continue
    with the block of the one before; `block_size`: as it was set, 0 if it was not; `turns`: how
    children take turns; `labels`: of modules that are called with one lumi after the other,
    wherever blocks end."""

    plan: Plan
    at: Mapping[str, Flags]
    block_size: int
    turns: str
    n_datasets: int
    labels: Sequence[str] = ()

    @classmethod
    def of(
        cls,
        config: JobConfig,
        plan: Plan,
        iovs: npt.NDArray[Any] | None,
        labels: Sequence[str],
        one_lumi: bool = False,
    ) -> Cuts:
        """`iovs`: (n_units,), None where they are not known; `one_lumi`: all blocks are of one
        lumi."""
        at = {"child": _differs(plan.units.child), **borders(plan, iovs, one_lumi)}
        size, turns = config.threads.block_size, _turns(config.forking)
        return cls(plan, at, size, turns, len(config.datasets), labels)

    @cached_property
    def n_calls(self) -> int:
        """Calls of a module that sees each block."""
        return self._without("")

    @cached_property
    def by_lumi(self) -> Cuts:
        """The same for modules that are called with one lumi after the other."""
        return replace(self, at={**self.at, **borders(self.plan, None, one_lumi=True)})

    @property
    def are_small(self) -> bool:
        """Whether calls are many, and of few events."""
        return self.n_calls >= MANY_CALLS and self.plan.n_events < FEW * self.n_calls

    def _without(self, reason: str) -> int:
        """Calls, if blocks did not end for this reason."""
        units = self.plan.units
        begins = np.zeros(len(units), dtype=np.bool_)
        begins[:1] = True
        for other, flags in self.at.items():
            if other != reason:
                begins |= flags
        firsts = np.flatnonzero(begins)
        if not len(firsts):
            return 0
        n_events = np.add.reduceat(units.n_events, firsts)
        block = self.block_size if reason != "block" else 0
        calls = np.maximum(-(-n_events // (block or _BLOCK)), 1)
        if reason != "files":
            calls = np.maximum(calls, -(-self._files_of(firsts) // _MOST_FILES))
        return int(calls.sum())

    def _files_of(self, firsts: Integers) -> Integers:
        """Files of the units from each of these on, up to the next."""
        units = self.plan.units
        begins = np.ones(len(units.file), dtype=np.int64)
        begins[1:] = units.file[1:] != units.file[:-1]
        ends = np.concatenate(([0], np.cumsum(begins)))
        ranges = np.append(units.first_range[:-1][firsts], len(units.file))
        begins = np.append(begins, 1)  # units without events may be last
        counted: Integers = ends[ranges[1:]] - ends[ranges[:-1]] + 1 - begins[ranges[:-1]]
        return counted

    @property
    def few(self) -> str:
        """Events of a call of the modules that the warning is about."""
        of = self if self.are_small else self.by_lumi
        return events_of(self.plan.n_events, of.n_calls)

    def warning(self) -> str:
        """Number of events per call, the reason, and the remedy; "" if it is enough."""
        if self.are_small:
            return self._warning("modules in Python get", "the time")
        if not self.labels or not self.by_lumi.are_small:
            return ""
        who, their = f"module {self._who()} gets", "its time"
        if len(self.labels) > 1:
            who, their = f"modules {self._who()} get", "their time"
        return self.by_lumi._warning(who, their)

    def _warning(self, who: str, time: str) -> str:
        n, n_calls = self.plan.n_events, self.n_calls
        return (
            f"{who} {events_of(n, n_calls)} in a call, {plural(n_calls, 'call')} for"
            f" {plural(n, 'event')}: the fixed cost of a call will be most of {time}{self.cause()}"
        )

    def _who(self) -> str:
        return " and ".join(f'"{label}"' for label in self.labels) or "modules in C++"

    def cause(self) -> str:
        """Reason for small blocks, and the remedy; "" if it is not one thing."""
        reasons = [*self.at, "files", *(["block"] if self.block_size else [])]
        left = {reason: self._without(reason) for reason in reasons}
        main = min(left, key=lambda reason: left[reason])
        return f": {self._words()[main]}" if 2 * left[main] <= self.n_calls else ""

    def _words(self) -> dict[str, str]:
        plan, n, n_files = self.plan, self.n_datasets, len(self.plan.files)
        n_iovs = int(self.at["iov"].sum()) + 1 if "iov" in self.at else 0
        return {
            "block": f"threads.block_size = {self.block_size} says so; leave it out",
            "lumi": self._of_lumis(),
            "iov": f"blocks end where conditions change: they have {plural(n_iovs, 'interval')}",
            "dataset": f"each of {plural(n, 'dataset')} has {events_of(plan.n_events, n)}",
            "files": (
                f"files have {events_of(plan.n_events, n_files)} on average, and a block is of"
                f" {_MOST_FILES} files at most; join them first: forkrun merge"
            ),
            "child": f'{self.turns} gives them to another child each; "guided" does not',
        }

    def _of_lumis(self) -> str:
        plan = self.plan
        scattered = f", in {plural(plan.n_pieces, 'piece')}: they are scattered over the input"
        return (
            f"lumis come one by one, as {self._who()} has one_lumi or callbacks of lumis or runs,"
            " and they"
            f" have {events_of(plan.n_events, plan.n_lumis)} on average"
            + (scattered if plan.are_lumis_scattered else "")
            + "; do without where the module can: events.lumis, events.lumi_ranges"
        )


def _turns(forking: ForkingConfig) -> str:
    turns = f'forking.distribution = "{forking.distribution.value}"'
    if forking.distribution is Distribution.ROUND_ROBIN:
        turns += f" in turns of {plural(forking.events_per_turn, 'event')}"
    return turns


def events_of(n_events: int, n: int) -> str:
    return plural(round(n_events / max(n, 1)), "event")
