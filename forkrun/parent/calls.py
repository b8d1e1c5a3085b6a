"""Calls of Python modules with few events each: predicted by the plan before the job runs, and
their cost measured by children."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import NamedTuple

from forkrun import _core
from forkrun.base.quantities import duration
from forkrun.config.model import JobConfig
from forkrun.config.modules import ModuleConfig
from forkrun.errors import ForkrunError
from forkrun.parent.preparation import PreparedJob
from forkrun.plan.cuts import FEW, MANY_CALLS, Cuts, events_of
from forkrun.plan.model import Plan
from forkrun.schedule.job_modules import is_cpp

_MUCH_S = 10.0
"""Minimum CPU time of all calls for a warning on their cost."""
_SOON_S = 3.0
"""The same per child, while the job runs: the first calls cost more than later ones."""


def cuts_of_classes(config: JobConfig, plan: Plan) -> Cuts:
    """Block ends of a plan, as far as the classes of its modules determine them; ignores
    conditions."""
    in_python = [entry for entry in config.modules if not is_cpp(entry)]
    cuts = Cuts.of(config, plan, None, [])
    if not in_python or not cuts.by_lumi.are_small:
        return cuts
    wanting = {entry.label: wants for entry in in_python if (wants := _wants_one_lumi(entry))}
    return Cuts.of(config, plan, None, list(wanting), "job" in wanting.values())


def _wants_one_lumi(entry: ModuleConfig) -> bool | str:
    """Whether a module wants one lumi per block, or wants it for the whole "job", according to its
    class, if that can be imported."""
    with contextlib.suppress(ForkrunError):
        if entry.type.startswith("python:") and entry.kind is None:
            from forkrun.modules.loading import find_class  # loads what the module needs
            from forkrun.modules.python_module import wants_one_lumi

            kind = find_class(entry.type.removeprefix("python:"), entry.label)
            return kind.one_lumi or wants_one_lumi(kind)
    return False


def warnings_of(job: PreparedJob) -> list[str]:
    """Warnings about a prepared job: probable mistakes and slow settings."""
    cuts = job.cuts
    of_calls = cuts.warning() if cuts else ""
    return [*job.schedule.warnings, *filter(None, [of_calls])]


class Calls(NamedTuple):
    """Time taken so far by calls of a job's Python modules, in `n_children`. `fixed_s`: part of it
    that does not depend on the events; 0 if unknown."""

    n_events: int
    n_calls: int
    calls_s: float
    fixed_s: float
    n_children: int

    @classmethod
    def of(cls, statuses: Iterable[_core.ChildStatus]) -> Calls:
        """Sums over all children."""
        rows = [
            (s.n_events_done, s.n_calls, s.calls_ns / 1e9, s.fixed_ns / 1e9)
            for s in statuses
            if s.n_calls
        ]
        n_events, n_calls, calls_s, fixed_s = (
            map(sum, zip(*rows, strict=True)) if rows else (0, 0, 0.0, 0.0)
        )
        return cls(int(n_events), int(n_calls), calls_s, fixed_s, len(rows))

    @property
    def are_expensive(self) -> bool:
        """Whether most of the time is the fixed cost of calls. Unknown where all calls have the
        same size: then a low number of events per call decides."""
        if not self.fixed_s:
            return self.n_calls >= MANY_CALLS and self.n_events < FEW * self.n_calls
        return 2 * self.fixed_s > self.calls_s

    def text(self, cause: str) -> str:
        """Warning on the cost of calls."""
        each = self.fixed_s or self.calls_s
        share = f"{100 * each / self.calls_s:.0f} % of" if self.fixed_s else "probably most of"
        remedy = cause or "; larger blocks need fewer calls (docs/modules.md, Blocks)"
        return (
            f"{share} the event loops' time is the fixed cost of calls of modules in Python:"
            f" {duration(each / self.n_calls)} a call of"
            f" {events_of(self.n_events, self.n_calls)}{remedy}"
        )


class CallWatch:
    """Warns once that calls get few events, and once that they cost too much, as early as possible.
    `cuts`: of the job's plan; `say`: takes the warning, and a short form of it."""

    def __init__(self, cuts: Cuts | None, say: Callable[[str, str], None]) -> None:
        self._cuts, self._say = cuts, say
        self._planned = cuts.warning() if cuts else ""
        self._has_said = False

    def look(self, calls: Calls, is_end: bool = False) -> None:
        """Checks the cost of calls so far."""
        if not calls.n_calls:
            return
        few = f"{events_of(calls.n_events, calls.n_calls)} a call"
        if self._planned:
            self._say(self._planned, f"{self._cuts.few} a call" if self._cuts else few)
            self._planned = ""
        least_s = _MUCH_S if is_end else _SOON_S * calls.n_children
        if not self._has_said and calls.calls_s >= least_s and calls.are_expensive:
            self._has_said = True
            self._say(calls.text(self._cuts.cause() if self._cuts else ""), few)
