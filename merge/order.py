"""Which commits are merged, in which order. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from forkrun.errors import VerificationError
from forkrun.rundir.ledger import Commit

Integers = np.ndarray[tuple[int], np.dtype[np.int64]]


class PlannedUnit(Protocol):
    """What the merge needs to know of a unit of the plan."""

    @property
    def number(self) -> int:
        """Number of the unit, in merge order."""

    @property
    def run(self) -> int:
        """Run number of its lumi."""

    @property
    def lumi(self) -> int:
        """Number of its lumi in the run."""

    @property
    def ranges(self) -> Sequence[tuple[int, int, int]]:
        """File, first and last of each range of entries."""


class PlannedUnits(Protocol):
    """Units of a plan in merge order. Unit u has the ranges [first_range[u], first_range[u + 1]) of
    entries; `file`, `first`, `last` : (n_ranges,)."""

    @property
    def first_range(self) -> Integers: ...
    @property
    def file(self) -> Integers: ...
    @property
    def first(self) -> Integers: ...
    @property
    def last(self) -> Integers: ...
    @property
    def go_back(self) -> bool:
        """Whether a file comes again after another one, or an entry after one behind it."""

    @property
    def n_events(self) -> Integers:
        """(n_units,) number of events to be read of each."""

    def joined_ranges(self, units: Integers) -> Any:
        """(n, 3) file, first and last of the entries of units."""

    def __iter__(self) -> Iterator[PlannedUnit]: ...


def merge_order(
    n_events: Integers, commits: Iterable[Commit], *, is_whole: bool = True
) -> list[Commit]:
    """The commits in plan order. `n_events` : (n_units,) of the units of the plan. Raises
    VerificationError unless each was committed exactly once, with all of its events; not
    `is_whole`: some may be missing."""
    ordered = sorted(commits, key=lambda commit: commit.unit)
    n_units = len(n_events)
    n_times = np.zeros(max([n_units, *(c.places.stop for c in ordered)]), dtype=np.int64)
    for commit in ordered:
        n_times[commit.places] += 1
    twice = np.flatnonzero(n_times > 1)
    problems = [f"unit {n} was committed {n_times[n]} times" for n in twice]
    others = n_units + np.flatnonzero(n_times[n_units:])
    problems += [f"unit {number} is not in the plan" for number in others]
    missing = np.flatnonzero(n_times[:n_units] == 0)
    if is_whole and len(missing):
        shown = ", ".join(map(str, missing[:5])) + (", …" if len(missing) > 5 else "")
        problems.append(f"{len(missing)} of {n_units} units were not committed: {shown}")
    for commit in ordered:
        n_planned = int(n_events[commit.places].sum())
        n_read = commit.n_events + len(commit.skipped)
        if n_read != n_planned and commit.unit < n_units:
            problems.append(f"unit {commit.unit}: {n_read} events were read, not {n_planned}")
    if problems:
        raise VerificationError("\n".join(problems))
    return ordered
