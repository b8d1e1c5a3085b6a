"""What was found out when a job was submitted, for its nodes: of modules by calling them, so that
nodes need not call them again with other events, which might say something else; and of the whole
input, of which each node opens a part."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from forkrun.schedule.input_branches import KnownBranches

if TYPE_CHECKING:
    from forkrun.modules.python_module import PythonModule


class Tried(Struct, frozen=True):
    """Number of events that modules were called with, None if nothing had to be found out; and the
    modules of Python that this imported."""

    n_events: int | None = None
    imports: Sequence[str] = ()


class FoundOut(Struct, frozen=True):
    """`modules`: by label of each module that does not declare both, the columns that it reads and
    the types of those that it makes; `n_tried`: events that it took, None if nothing had to be
    tried; `branches`: of all files; `sums_of_weights`: by dataset, of its files; `imports`: what
    modules import when they are called."""

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
        """Record of what modules declare now that they are complete."""
        found = {
            label: (list(modules[label].consumes), dict(modules[label].produces))
            for label in undeclared
            if modules[label].is_declared
        }
        return cls(found, tried.n_events, branches, sums_of_weights, tried.imports)

    def tell(self, modules: Mapping[str, PythonModule]) -> None:
        """Completes those that were found out. What they declare stays."""
        for label, (reads, produces) in self.modules.items():
            if label in modules and not modules[label].is_declared:
                modules[label].found_out(reads, produces)
