"""Text, JSON and plots of an estimate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, to_builtins

from forkrun.base.quantities import duration, plural
from forkrun.monitoring.tables import Fact, Facts, Table, text_of
from forkrun.studies.estimate.graph import EstimateGraph
from forkrun.studies.estimate.scaling import Limits, Parallelism, Scaling

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_CRITICAL = 10
_MODULE_WIDTH = 48
_SET_BY_WIDTH = 11
"""Width of labels in tables, for 80 columns in total."""


class Estimate(Struct, frozen=True):
    """Contents of the report about a graph."""

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


def print_estimate(estimate: Estimate) -> None:
    """Prints facts, critical path and scaling."""
    graph, p = estimate.graph, estimate.parallelism
    print(f"{graph.name}: {plural(p.n_modules, 'module')}, {_times_of(graph)}")
    print(text_of([Facts([Fact(*fact) for fact in _facts(estimate)])]), end="\n\n")
    print(text_of([_critical_table(p, graph.unit), _scaling_table(estimate.scaling, graph.unit)]))


def _times_of(graph: EstimateGraph) -> str:
    if graph.run is None:
        return plural(graph.n_events, "event")
    return (
        f"{plural(graph.run.n_blocks, 'block')} of {graph.events_per_block:,.4g} events on average"
    )


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


def _critical_table(parallelism: Parallelism, unit: str) -> Table:
    first, rest = parallelism.critical[:MAX_CRITICAL], parallelism.critical[MAX_CRITICAL:]
    rows = [(shorten(m.label, _MODULE_WIDTH), m.on_path_s, m.share) for m in first]
    if rest:
        sums = sum(m.on_path_s for m in rest), sum(m.share for m in rest)
        rows.append((plural(len(rest), "other"), *sums))
    return Table.of("On the critical path", ("module", f"per {unit}:time", "share:share"), rows)


def _scaling_table(found: Sequence[Scaling], unit: str) -> Table:
    rows = [
        (row.n_threads, row.in_flight, _rate(row.events_per_s), _with_error(row.speedup, row.error),
         row.efficiency, row.most, shorten(row.set_by.removeprefix(f"{unit}s "), _SET_BY_WIDTH))
        for row in found
    ]  # fmt: skip
    numbers = ("threads:text", "in flight:text", "events/s:text", "speed-up:text")
    heads = (*numbers, "per thread:share", "at most:ratio", "set by")
    return Table.of("Speed-up over one thread, in a long run", heads, rows)


def shorten(label: str, width: int) -> str:
    """A label of at most `width` characters; a longer one loses its middle, since labels that start
    alike differ at the end."""
    if len(label) <= width:
        return label
    n_last = (width - 1) // 2
    return f"{label[: width - 1 - n_last]}…{label[-n_last:]}"


def _with_error(value: float, error: float) -> str:
    """Value with its error, without an error of 0.00."""
    return f"{value:.2f}" + (f" ± {error:.2f}" if error >= 0.005 else "")


def write_plots(estimate: Estimate, folder: Path) -> list[Path]:
    """Writes `running.png`, `scaling.png` and the same as SVG. Loads matplotlib. Raises
    OutputError."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from forkrun.monitoring.report.plot_style import save_all

    mpl.use("agg")
    figures = {}
    for name, draw in (("running", _draw_running), ("scaling", _draw_scaling)):
        figures[name] = Figure(figsize=(7.0, 4.2), layout="constrained")
        draw(figures[name].subplots(), estimate)
    return save_all(figures, folder, "png", "svg")


def _draw_running(axes: Axes, estimate: Estimate) -> None:
    p, graph = estimate.parallelism, estimate.graph
    axes.fill_between(p.time_s, p.n_running, step="mid", alpha=0.35, linewidth=0)
    axes.step(p.time_s, p.n_running, where="mid", linewidth=1.2)
    average = f"average until it ends {p.speedup:.2f}, at most {p.max_running}"
    axes.axhline(p.speedup, color="0.35", linestyle="--", linewidth=1, label=average)
    mean_of = f" (mean of {p.n_events} events)" if p.n_events > 1 else ""
    axes.set(
        xlabel=f"time since the {graph.unit} began [s]",
        ylabel=f"modules running{mean_of}",
        title=f"{graph.name}: one {graph.unit}, as many threads as it can use",
        xlim=(0, p.time_s[-1]),
        ylim=(0, None),
    )
    axes.legend(frameon=False)


def _draw_scaling(axes: Axes, estimate: Estimate) -> None:
    rows, unit, p = estimate.scaling, estimate.graph.unit, estimate.parallelism
    threads = [row.n_threads for row in rows]
    in_flight = {row.in_flight for row in rows}
    many = f"{in_flight.pop()} {unit}s" if len(in_flight) == 1 else f"one {unit} per thread"
    axes.plot(threads, [row.most for row in rows], color="0.7", label="tightest limit")
    speedups, errors = [row.speedup for row in rows], [row.error for row in rows]
    axes.errorbar(threads, speedups, errors, fmt="o-", label=f"list scheduling, {many} in flight")
    simple = [row.simple_speedup for row in rows]
    axes.plot(threads, simple, "s--", label=f"one {unit}, modules / threads")
    path = f"critical path of one {unit}: {p.speedup:.2f}"
    axes.axhline(p.speedup, color="0.35", linestyle=":", linewidth=1, label=path)
    axes.set(xlabel="threads", ylabel="speed-up", title=estimate.graph.name)
    axes.set_xlim(0, None)
    axes.set_ylim(0, max(*speedups, p.speedup) * 1.15)
    axes.legend(frameon=False)
