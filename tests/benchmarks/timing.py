"""Measuring two or more ways side by side: alternating order, best of several."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class Cost(NamedTuple):
    """Wall time and CPU time [s], the latter of all processes; None if it was not measured."""

    wall_s: float
    cpu_s: float | None


Timer = Callable[[], Cost]


@dataclass(frozen=True)
class Result:
    """One case. `costs`: per way, every measurement; the first way is forkrun's."""

    case: str
    peer: str
    costs: Mapping[str, list[Cost]]
    notes: Mapping[str, object] = field(default_factory=dict)

    def best(self, way: str) -> Cost:
        """Shortest wall time and, on its own, shortest CPU time."""
        cpu = [cost.cpu_s for cost in self.costs[way] if cost.cpu_s is not None]
        return Cost(min(cost.wall_s for cost in self.costs[way]), min(cpu, default=None))

    def ratio(self, way: str) -> Cost:
        """A way's time over forkrun's: above 1, forkrun is faster."""
        ours, theirs = self.best(next(iter(self.costs))), self.best(way)
        has_cpu = ours.cpu_s and theirs.cpu_s
        cpu = theirs.cpu_s / ours.cpu_s if has_cpu and theirs.cpu_s and ours.cpu_s else None
        return Cost(theirs.wall_s / ours.wall_s, cpu)

    def to_json(self) -> dict[str, object]:
        """Figures and what they are made of."""
        return {
            "case": self.case,
            "peer": self.peer,
            "ratio": self.ratio(self.peer)._asdict(),
            "best": {way: self.best(way)._asdict() for way in self.costs},
            "all": {way: [cost._asdict() for cost in costs] for way, costs in self.costs.items()},
            "notes": dict(self.notes),
        }


def timed(work: Callable[[], object]) -> Cost:
    """Cost of a call, with the processes it started and waited for."""
    start_s, start_cpu_s = time.perf_counter(), _cpu_s()
    work()
    return Cost(time.perf_counter() - start_s, _cpu_s() - start_cpu_s)


def _cpu_s() -> float:
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def measure(timers: Mapping[str, Timer], repeats: int) -> dict[str, list[Cost]]:
    """Calls every timer `repeats` times after one call that does not count, forwards and backwards
    in turn, so that what disturbs the machine disturbs all."""
    for timer in timers.values():
        timer()
    costs: dict[str, list[Cost]] = {way: [] for way in timers}
    for i in range(repeats):
        for way in list(timers)[:: 1 if i % 2 == 0 else -1]:
            costs[way].append(timers[way]())
    return costs


def format_table(results: list[Result]) -> str:
    """One line per way, with the ratio to forkrun's."""
    lines = [f"{'':<42}{'wall':>10}{'ratio':>9}{'CPU':>12}{'ratio':>9}", ""]
    for result in results:
        lines.append(result.case)
        lines += [_row(result, way) for way in result.costs]
        lines += [f"    {name}: {value}" for name, value in result.notes.items()] + [""]
    return "\n".join(lines)


def _row(result: Result, way: str) -> str:
    best, ratio = result.best(way), result.ratio(way)
    mark = "  ◀ peer" if way == result.peer else ""
    cpu = "-" if best.cpu_s is None else f"{best.cpu_s:.3f} s"
    cpu_ratio = "" if ratio.cpu_s is None else f"{ratio.cpu_s:.2f} ×"
    return f"  {way:<40}{best.wall_s:>8.3f} s{ratio.wall_s:>7.2f} ×{cpu:>12}{cpu_ratio:>9}{mark}"
