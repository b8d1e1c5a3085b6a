"""An estimate for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from forkrun.estimate.graph import EstimateGraph
from forkrun.estimate.parallelism import Parallelism
from forkrun.estimate.scaling import Limits, Scaling
from forkrun.timing.table import short_time

MAX_CRITICAL = 10


@dataclass(frozen=True)
class Estimate:
    """Everything that is said of a graph."""

    graph: EstimateGraph
    parallelism: Parallelism
    scaling: Sequence[Scaling]
    limits: Limits

    def to_json(self) -> dict[str, Any]:
        """Times in s; arrays as lists."""
        parallelism = asdict(self.parallelism)
        for name in ("time_with_s", "time_s", "n_running"):
            parallelism[name] = parallelism[name].tolist()
        return {
            "name": self.graph.name,
            "parallelism": parallelism,
            "scaling": [asdict(row) for row in self.scaling],
            "limits": asdict(self.limits),
        }


def print_estimate(estimate: Estimate, console: Console) -> None:
    """Facts, critical path, scaling."""
    p = estimate.parallelism
    console.print(f"{estimate.graph.name}: {p.n_modules} modules, {p.n_events} events")
    console.print(
        f"  one event: {short_time(p.total_s)} of work, critical path"
        f" {short_time(p.critical_path_s)}: at most {p.speedup:.3g} times as fast"
    )
    console.print(f"  modules running at once: {p.speedup:.3g} on average, at most {p.max_running}")
    _print_limits(estimate.limits, console)
    console.print(_critical_table(p), _scaling_table(estimate.scaling))


def _print_limits(limits: Limits, console: Console) -> None:
    if limits.slowest is not None:
        rate = f"at most {limits.slowest:.4g} events/s"
        console.print(f"  one event at a time in {limits.slowest_label}: {rate}")
    if limits.unsafe is not None:
        console.print(f"  unsafe modules together: at most {limits.unsafe:.4g} events/s")


def _critical_table(parallelism: Parallelism) -> Table:
    table = Table(title="On the critical path", title_justify="left")
    for name, justify in (("module", "left"), ("per event", "right"), ("share", "right")):
        table.add_column(name, justify="left" if justify == "left" else "right")
    for module in parallelism.critical[:MAX_CRITICAL]:
        table.add_row(module.label, short_time(module.on_path_s), f"{100 * module.share:.1f} %")
    rest = parallelism.critical[MAX_CRITICAL:]
    if rest:
        time_s, share = sum(m.on_path_s for m in rest), sum(m.share for m in rest)
        table.add_row(f"{len(rest)} others", short_time(time_s), f"{100 * share:.1f} %")
    return table


def _scaling_table(rows: Sequence[Scaling]) -> Table:
    table = Table(title="Threads, and as many events in flight as said", title_justify="left")
    for name in ("threads", "in flight", "events/s", "speed-up", "per thread", "1 event, simple"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            str(row.n_threads),
            str(row.in_flight),
            f"{row.events_per_s:.4g}",
            f"{row.speedup:.2f}",
            f"{100 * row.efficiency:.1f} %",
            f"{row.simple_speedup:.2f}",
        )
    return table
