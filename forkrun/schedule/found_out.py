"""Findings at submission, passed to the nodes of a job: reads and products of modules, found by
calling them, since other events on a node might give other answers; and facts about the whole
input, of which each node opens a part."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from forkrun.schedule.input_branches import KnownBranches

if TYPE_CHECKING:
    from forkrun.modules.python_module import PythonModule


class Tried(Struct, frozen=True):
    """Number of events used in the trial, None without a trial; the Python modules imported
    during it; `is_whole`: as many events were used as are enough, neither fewer for lack of time
    nor more because filters left none; `rate`: events per second of its last round."""

    n_events: int | None = None
    imports: Sequence[str] = ()
    is_whole: bool = False
    rate: float = 0.0

    def after(self, before: Tried) -> Tried:
        """This trial of some modules with the one `before`, of the others."""
        imports = list(dict.fromkeys([*before.imports, *self.imports]))
        is_known = self.rate > 0 and before.rate > 0
        rate = 1 / (1 / self.rate + 1 / before.rate) if is_known else 0.0
        return replace(self, imports=imports, rate=rate)


class FoundOut(Struct, frozen=True):
    """`modules`: by label of each module that does not declare both, columns that it reads and
    types of columns that it makes; `n_tried`: events of the trial, None without a trial;
    `branches`: of all files; `sums_of_weights`: by dataset, from its files; `imports`: Python
    modules imported by calls; `rate`: events per second of the trial, 0 without one."""

    modules: Mapping[str, tuple[list[str], dict[str, str]]]
    n_tried: int | None = None
    branches: KnownBranches | None = None
    sums_of_weights: Mapping[str, float] = {}
    imports: Sequence[str] = ()
    rate: float = 0.0

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
        return cls(found, tried.n_events, branches, sums_of_weights, tried.imports, tried.rate)

    def tell(self, modules: Mapping[str, PythonModule]) -> None:
        """Completes the undeclared modules with these findings. Declarations stay."""
        for label, (reads, produces) in self.modules.items():
            if label in modules and not modules[label].is_declared:
                modules[label].found_out(reads, produces)
