"""Report of a simulation for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict

from forkrun.base.quantities import plural
from forkrun.monitoring.tables import Table
from forkrun.studies.frame.study import Curve, Plot
from forkrun.studies.simulation.compare import Simulated
from forkrun.studies.simulation.layout import Layout

_HEADS = (
    "", "util.:fraction", "disp.:fraction", "wall [s]:text", "effic.:fraction", "stretches:count",
    "events:text", "clusters:text",
)  # fmt: skip
_WORDS = """\
util., utilization: mean over longest busy time, overhead included; disp., dispersion:
their standard deviation over their mean; effic., efficiency: ideal over actual wall
time; stretches: what children take at a time, events: their mean number of events;
clusters: length of what a stretch reads in a row"""


class Simulation(Struct, frozen=True):
    """Rows by distribution, then by number of children."""

    input: str
    costs: str
    overhead_s: float
    call_s: float
    rows: tuple[Simulated, ...]

    def to_json(self) -> dict[str, Any]:
        """JSON-ready content; times in s."""
        return {
            "input": self.input,
            "costs": self.costs,
            "overhead_s": self.overhead_s,
            "call_s": self.call_s,
            "rows": [{**asdict(row), "efficiency": row.efficiency} for row in self.rows],
        }

    def plot(self) -> Plot:
        """Plot of the utilization against the number of children, with a line for each
        distribution."""
        points: dict[str, list[tuple[float, ...]]] = {}
        for row in self.rows:
            points.setdefault(row.distribution, []).append((row.children, row.utilization or 0.0))
        return Plot(
            "Utilization by distribution, simulated", f"{self.input}; {self.costs}",
            "children", "utilization", [Curve(*curve) for curve in points.items()],
            x_log=2, ideal=1.0,
        )  # fmt: skip


def describe_input(layout: Layout) -> str:
    """Entries, lumis and files, in words."""
    n_lumis = len(np.unique(layout.lumi_key))
    entries = plural(layout.n_entries, "event")
    return f"{entries} in {plural(n_lumis, 'lumi')} of {plural(len(layout.file) - 1, 'file')}"


def print_simulation(simulation: Simulation) -> None:
    """Prints a table and a legend."""
    print(simulation.input)
    overhead = f"{1e3 * simulation.overhead_s:.3g} ms per stretch"
    if simulation.call_s:
        overhead += f", {1e3 * simulation.call_s:.3g} ms per call"
    print(f"costs: {simulation.costs}; {overhead}", end="\n\n")
    print(Table.of("", _HEADS, _rows(simulation)).text())
    print(f"\n{_WORDS}")


def _rows(simulation: Simulation) -> Iterator[tuple[Any, ...]]:
    rows = sorted(simulation.rows, key=lambda row: row.children)  # sorted is stable
    for children, group in groupby(rows, key=lambda row: row.children):
        for n, row in enumerate(group):
            if n == 0:
                yield f"{children} children, ideal", 1.0, 0.0, _time(row.ideal_s), 1.0, *[""] * 3
            yield (
                f"  {row.distribution}", row.utilization, row.relative_std, _time(row.wall_s),
                row.efficiency, row.n_stretches, _number(row.mean_stretch_events),
                _number(row.mean_read_clusters),
            )  # fmt: skip


def _number(value: float) -> str:
    return f"{value:.2g}" if value < 1 else f"{value:,.{1 if value < 100 else 0}f}"


def _time(time_s: float) -> str:
    return f"{time_s:#.3g}" if time_s < 100 else f"{time_s:,.0f}"
