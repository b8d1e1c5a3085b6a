"""An estimate for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, to_builtins
from rich import box
from rich.console import Console
from rich.table import Table

from forkrun.base.quantities import duration
from forkrun.studies.estimate.graph import EstimateGraph
from forkrun.studies.estimate.parallelism import Parallelism
from forkrun.studies.estimate.scaling import Limits, Scaling

MAX_CRITICAL = 10
_MODULE_WIDTH = 48
_SET_BY_WIDTH = 11
"""Width of labels in tables, which then fit into 80 columns."""


class Estimate(Struct, frozen=True):
    """Everything that the report says about a graph."""

    graph: EstimateGraph
    parallelism: Parallelism
    scaling: Sequence[Scaling]
    limits: Limits

    def to_json(self) -> dict[str, Any]:
        """Times in s; arrays as lists. `unit` : what is simulated, an event or a block of a run."""
        return {
            "name": self.graph.name,
            "unit": self.graph.unit,
            "run": to_builtins(self.graph.run),
            "parallelism": to_builtins(self.parallelism, enc_hook=np.ndarray.tolist),
            "scaling": to_builtins(self.scaling),
            "limits": to_builtins(self.limits),
        }


def print_estimate(estimate: Estimate, console: Console) -> None:
    """Facts, critical path, scaling."""
    graph, p = estimate.graph, estimate.parallelism
    console.print(f"{graph.name}: {p.n_modules} modules, {_times_of(graph)}", soft_wrap=True)
    for name, text in _facts(estimate):
        console.print(f"  {name:<13}  {text}", soft_wrap=True)
    console.print()
    console.print(_critical_table(p, graph.unit))
    console.print(_scaling_table(estimate.scaling, graph.unit))


def _times_of(graph: EstimateGraph) -> str:
    if graph.run is None:
        return f"{graph.n_events:,} events"
    return f"{graph.run.n_blocks:,} blocks of {graph.events_per_block:,.4g} events on average"


def _facts(estimate: Estimate) -> Iterator[tuple[str, str]]:
    graph, p, limits = estimate.graph, estimate.parallelism, estimate.limits
    yield "work", f"{duration(p.total_s)} per {graph.unit}"
    path = f"{duration(p.critical_path_s)} per {graph.unit}"
    yield "critical path", f"{path}: one at a time, at most {p.speedup:.2f} times as fast"
    average = f"{p.speedup:.2f} on average, at most {p.max_running}"
    yield "at once", f"modules of one {graph.unit} that run together: {average}"
    if limits.slowest is not None:
        what = f"{limits.slowest_label} takes one {graph.unit} at a time"
        yield "limit", f"{_rate(limits.slowest)} events/s: {what}"
    if limits.unsafe is not None:
        yield "limit", f"{_rate(limits.unsafe)} events/s: unsafe modules never run together"
    if limits.slowest is not None or limits.unsafe is not None:
        yield (
            "error",
            "some percent where these modules limit: a real run's order is not quite ours",
        )
    if graph.run is not None and graph.run.wall_s > 0:
        rate = _rate(graph.run.n_events / graph.run.wall_s)
        yield "measured", f"{rate} events/s in each child, opening and closing of units included"


def _rate(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 1000 else f"{rate:.4g}"


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False,
                  collapse_padding=True)  # fmt: skip
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _critical_table(parallelism: Parallelism, unit: str) -> Table:
    table = _table("On the critical path", ("module", f"per {unit}", "share"))
    table.columns[0].justify = "left"
    for module in parallelism.critical[:MAX_CRITICAL]:
        table.add_row(
            shorten(module.label, _MODULE_WIDTH),
            duration(module.on_path_s),
            f"{100 * module.share:.1f} %",
        )
    rest = parallelism.critical[MAX_CRITICAL:]
    if rest:
        time_s, share = sum(m.on_path_s for m in rest), sum(m.share for m in rest)
        table.add_row(f"{len(rest)} others", duration(time_s), f"{100 * share:.1f} %")
    return table


def _scaling_table(rows: Sequence[Scaling], unit: str) -> Table:
    table = _table(
        "Speed-up over one thread, in a long run",
        ("threads", "in flight", "events/s", "speed-up", "per thread", "at most", "set by"),
    )
    table.columns[-1].justify = "left"
    for row in rows:
        table.add_row(
            str(row.n_threads),
            str(row.in_flight),
            _rate(row.events_per_s),
            _with_error(row.speedup, row.error),
            f"{100 * row.efficiency:.1f} %",
            f"{row.most:.2f}",
            shorten(row.set_by.removeprefix(f"{unit}s "), _SET_BY_WIDTH),
        )
    return table


def shorten(label: str, width: int) -> str:
    """A label of at most `width` characters; a longer one loses its middle, since labels that begin
    alike differ at the end."""
    if len(label) <= width:
        return label
    n_last = (width - 1) // 2
    return f"{label[: width - 1 - n_last]}…{label[-n_last:]}"


def _with_error(value: float, error: float) -> str:
    """The error is left out where it is 0.00."""
    return f"{value:.2f}" + (f" ± {error:.2f}" if error >= 0.005 else "")
