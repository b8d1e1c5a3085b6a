"""Plots of an estimate."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from forkrun.monitoring.report.plots.style import save_all
from forkrun.studies.estimate.report import Estimate


def write_plots(estimate: Estimate, folder: Path) -> list[Path]:
    """Writes `running.png`, `scaling.png` and the same as SVG. Raises OutputError."""
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
