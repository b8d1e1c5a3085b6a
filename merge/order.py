"""Which commits are merged, in which order. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol

from forkrun.errors import VerificationError
from forkrun.rundir.ledger import Commit


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
    def n_events(self) -> int:
        """Number of events to be read."""

    @property
    def ranges(self) -> Sequence[tuple[int, int, int]]:
        """File, first and last of each range of entries."""


def _n_covered(commit: Commit) -> int:
    return commit.n_events + len(commit.skipped)


def merge_order(units: Sequence[PlannedUnit], commits: Iterable[Commit]) -> list[Commit]:
    """The commits in plan order. Raises VerificationError unless each unit of the plan was
    committed exactly once, with all of its events."""
    commits = list(commits)
    by_unit = {number: commit for commit in commits for number in commit.units}
    planned = {unit.number: unit.n_events for unit in units}
    counts = Counter(number for commit in commits for number in commit.units)
    problems = [f"unit {number} was committed {n} times" for number, n in counts.items() if n > 1]
    problems += [f"unit {n} is not in the plan" for n in sorted(by_unit.keys() - planned.keys())]
    missing = sorted(planned.keys() - by_unit.keys())
    if missing:
        shown = ", ".join(map(str, missing[:5])) + (", …" if len(missing) > 5 else "")
        problems.append(f"{len(missing)} of {len(planned)} units were not committed: {shown}")
    for commit in commits:
        n_planned = sum(planned.get(number, 0) for number in commit.units)
        if _n_covered(commit) != n_planned and commit.unit in planned:
            n_read = _n_covered(commit)
            problems.append(f"unit {commit.unit}: {n_read} events were read, not {n_planned}")
    if problems:
        raise VerificationError("\n".join(problems))
    return [by_unit[unit.number] for unit in units if by_unit[unit.number].unit == unit.number]
