"""Measuring two or more ways side by side: alternating order, best of several."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Timer = Callable[[], float]


@dataclass(frozen=True)
class Result:
    """One case. `times_s`: per way, every measured time; the first way is forkrun's."""

    case: str
    peer: str
    times_s: Mapping[str, list[float]]
    notes: Mapping[str, object] = field(default_factory=dict)

    def best_s(self, way: str) -> float:
        """Shortest time of a way [s]."""
        return min(self.times_s[way])

    @property
    def ratio(self) -> float:
        """Peer's time over forkrun's: above 1, forkrun is faster."""
        return self.best_s(self.peer) / self.best_s(next(iter(self.times_s)))

    def to_json(self) -> dict[str, object]:
        return {
            "case": self.case,
            "peer": self.peer,
            "ratio": self.ratio,
            "best_s": {way: self.best_s(way) for way in self.times_s},
            "times_s": dict(self.times_s),
            "notes": dict(self.notes),
        }


def measure(timers: Mapping[str, Timer], repeats: int) -> dict[str, list[float]]:
    """Calls every timer `repeats` times after one call that does not count, forwards and backwards
    in turn, so that what disturbs the machine disturbs all."""
    for timer in timers.values():
        timer()
    times: dict[str, list[float]] = {way: [] for way in timers}
    for i in range(repeats):
        for way in list(timers)[:: 1 if i % 2 == 0 else -1]:
            times[way].append(timers[way]())
    return times


def format_table(results: list[Result]) -> str:
    """One line per way, with the ratio to forkrun's at the peer's."""
    lines = []
    for result in results:
        lines.append(result.case)
        first = result.best_s(next(iter(result.times_s)))
        for way in result.times_s:
            ratio = result.best_s(way) / first
            mark = "  ◀ peer" if way == result.peer else ""
            lines.append(f"  {way:<44}{result.best_s(way):>9.3f} s {ratio:>8.2f} ×{mark}")
        lines += [f"  {name}: {value}" for name, value in result.notes.items()] + [""]
    return "\n".join(lines)
