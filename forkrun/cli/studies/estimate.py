"""`forkrun estimate`: what the times and dependencies of a job allow."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from forkrun.base.durable import write_user_file
from forkrun.cli.arguments import add_options, numbers
from forkrun.errors import ConfigError
from forkrun.rundir.directory import RunDirectory

if TYPE_CHECKING:
    from forkrun.studies.estimate.graph import EstimateGraph


_MOST_THREADS = 10_000
"""Largest number of threads: each execution with them takes time to simulate."""

_OPTIONS = {
    "--threads N,N,… = 1,2,4,8,16,32": "numbers of threads (%(default)s)",
    "--events-in-flight N": "events (of a run: blocks) in flight; default: as many as threads",
    "--json OUT.json": "write the results as JSON",
    "--plots DIR": "write plots as PNG and SVG",
}
DESCRIPTION = (
    "Estimate, from the times and dependencies of modules in a replay file or a"
    " run,"
    " how many modules run at once, the critical path, and events per second against threads"
    " in a long run. For a run this is about one child, with blocks instead of events."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    parser.add_argument("source", metavar="FILE | RUNDIR", type=Path, help="replay file, or a run")
    add_options(parser, _OPTIONS)


def run(options: argparse.Namespace) -> int:
    """Prints the estimate."""
    from forkrun.studies.estimate.report import Estimate, print_estimate
    from forkrun.studies.estimate.scaling import limits, measure_parallelism, scale

    threads = numbers("estimate: --threads", options.threads, "1,2,4", _MOST_THREADS)
    if not 1 <= (options.events_in_flight or 1) <= _MOST_THREADS or options.events_in_flight == 0:
        raise ConfigError(f"estimate: --events-in-flight: from 1 to {_MOST_THREADS:,}")
    graph = _graph(options.source)
    parallelism = measure_parallelism(graph)
    rows = scale(graph, parallelism, threads, options.events_in_flight)
    estimate = Estimate(graph, parallelism, rows, limits(graph))
    print_estimate(estimate)
    if options.json is not None:
        write_user_file(options.json, json.dumps(estimate.to_json()) + "\n")
    if options.plots is not None:
        from forkrun.studies.estimate.report import write_plots  # matplotlib

        print(*write_plots(estimate, options.plots), sep="\n")
    return 0


def _graph(source: Path) -> EstimateGraph:
    from forkrun.monitoring.timing.model import read_timing
    from forkrun.studies.estimate.graph import graph_of_replay, graph_of_timing
    from forkrun.studies.replay.read import read_replay

    if source.suffix == ".toml":
        raise ConfigError(
            f"estimate: {source} is the configuration of a job, which has no times: give the run"
            " directory of the job when it has run, or a replay file"
        )
    if not source.is_dir():
        return graph_of_replay(read_replay(source))
    if not RunDirectory(source).is_run_directory():
        raise ConfigError(f"estimate: {source} is neither a run directory nor a replay file")
    return graph_of_timing(read_timing(source), source.resolve().name)
