"""Where the blocks of a plan end: modules that get few events in a call take most of their time for
what a call costs whatever it gets. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from forkrun.base.lumis import Integers
from forkrun.base.quantities import plural
from forkrun.config import Distribution, ForkingConfig, JobConfig
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
    """By reason, (n_units,) whether blocks cannot go on from the unit before: both are of one
    dataset, of one IOV and, if modules want it, of one lumi. `iovs`: (n_units,), None where they
    are not known."""
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
    """Where the blocks of a plan end. `at`: by reason, for each unit whether it cannot go on with
    the block of the one before; `block_size`: as it was set, 0 if it was not; `turns`: how children
    take turns; `labels`: of modules that want lumis one by one."""

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
        labels: Sequence[str] | None,
    ) -> Cuts:
        """`iovs`: (n_units,), None where they are not known; `labels`: None
        if no module wants lumis one by one."""
        at = {"child": _differs(plan.units.child), **borders(plan, iovs, labels is not None)}
        size, turns = config.threads.block_size, _turns(config.forking)
        return cls(plan, at, size, turns, len(config.datasets), labels or ())

    @cached_property
    def n_calls(self) -> int:
        """Calls of a module that sees each block."""
        return self._without("")

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

    def warning(self) -> str:
        """What calls get, why, and what to do; "" if it is enough."""
        if not self.are_small:
            return ""
        n, n_calls = self.plan.n_events, self.n_calls
        return (
            f"modules in Python get {events_of(n, n_calls)} in a call, {n_calls:,} calls"
            f" for {plural(n, 'event')}: what a call costs whatever it gets will be most of the"
            f" time{self.cause()}"
        )

    def cause(self) -> str:
        """What keeps blocks small, and what to do; "" if it is not one thing."""
        reasons = [*self.at, "files", *(["block"] if self.block_size else [])]
        left = {reason: self._without(reason) for reason in reasons}
        main = min(left, key=lambda reason: left[reason])
        return f": {self._words()[main]}" if 2 * left[main] <= self.n_calls else ""

    def _words(self) -> dict[str, str]:
        plan, n_datasets, n_files = self.plan, self.n_datasets, len(self.plan.files)
        n_iovs = int(self.at["iov"].sum()) + 1 if "iov" in self.at else 0
        return {
            "block": f"threads.block_size = {self.block_size} says so; leave it out",
            "lumi": self._of_lumis(),
            "iov": f"blocks end where conditions change, which they do in {n_iovs:,} intervals",
            "dataset": f"{n_datasets} datasets have {events_of(plan.n_events, n_datasets)} each",
            "files": (
                f"files have {events_of(plan.n_events, n_files)} on average, and a block is of"
                f" {_MOST_FILES} files at most; join them first: forkrun merge"
            ),
            "child": f'{self.turns} gives them to another child each; "guided" does not',
        }

    def _of_lumis(self) -> str:
        plan = self.plan
        who = " and ".join(f'"{label}"' for label in self.labels) or "modules in C++"
        scattered = f", in {plan.n_pieces:,} pieces: they are scattered over the input"
        return (
            f"lumis come one by one, as {who} has one_lumi or callbacks of lumis or runs, and they"
            f" have {events_of(plan.n_events, plan.n_lumis)} on average"
            + (scattered if plan.are_lumis_scattered else "")
            + "; do without where the module can: block.lumis, block.lumi_ranges"
        )


def _turns(forking: ForkingConfig) -> str:
    turns = f'forking.distribution = "{forking.distribution.value}"'
    if forking.distribution is Distribution.ROUND_ROBIN:
        turns += f" in turns of {plural(forking.events_per_turn, 'event')}"
    return turns


def events_of(n_events: int, n: int) -> str:
    return plural(round(n_events / max(n, 1)), "event")
