"""Findings at submission, passed to the nodes of a job: reads and products of modules, found by
calling them, since other events on a node might give other answers; and facts about the whole
input, of which each node opens a part."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from forkrun.schedule.input_branches import KnownBranches

if TYPE_CHECKING:
    from forkrun.modules.python_module import PythonModule


class Tried(Struct, frozen=True):
    """Number of events used in the trial, None without a trial; the Python modules imported
    during it; `is_whole`: as many events were used as are enough, neither fewer for lack of time
    nor more because filters left none."""

    n_events: int | None = None
    imports: Sequence[str] = ()
    is_whole: bool = False


class FoundOut(Struct, frozen=True):
    """`modules`: by label of each module that does not declare both, columns that it reads and
    types of columns that it makes; `n_tried`: events of the trial, None without a trial;
    `branches`: of all files; `sums_of_weights`: by dataset, from its files; `imports`: Python
    modules imported by calls."""

    modules: Mapping[str, tuple[list[str], dict[str, str]]]
    n_tried: int | None = None
    branches: KnownBranches | None = None
    sums_of_weights: Mapping[str, float] = {}
    imports: Sequence[str] = ()

    @classmethod
    def of(
        cls,
        modules: Mapping[str, PythonModule],
        undeclared: Collection[str],
        tried: Tried,
        branches: KnownBranches,
        sums_of_weights: Mapping[str, float],
    ) -> FoundOut:
        """Record of the modules' declarations, once complete."""
        found = {
            label: (list(modules[label].consumes), dict(modules[label].produces))
            for label in undeclared
            if modules[label].is_declared
        }
        return cls(found, tried.n_events, branches, sums_of_weights, tried.imports)

    def tell(self, modules: Mapping[str, PythonModule]) -> None:
        """Completes the undeclared modules with these findings. Declarations stay."""
        for label, (reads, produces) in self.modules.items():
            if label in modules and not modules[label].is_declared:
                modules[label].found_out(reads, produces)
