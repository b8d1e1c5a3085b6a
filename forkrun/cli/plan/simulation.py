"""`forkrun plan --simulate`: how long children would take, with each distribution."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path

from forkrun.cli.arguments import numbers
from forkrun.config import JobConfig
from forkrun.config.auto_children import AUTO
from forkrun.errors import ConfigError
from forkrun.index import FileIndex
from forkrun.parent.job_input import mask_of
from forkrun.studies.simulation.compare import (
    Settings,
    Simulation,
    compare,
    describe_input,
    print_simulation,
)
from forkrun.studies.simulation.costs import Costs, draw_costs, parse_cost_model, read_costs
from forkrun.studies.simulation.layout import Layout, layout_of

_CHILDREN = (8, 32, 256)
_OVERHEAD_S = 0.007
_MOST_CHILDREN = 100_000
"""Each has a row of times in memory."""


SIMULATION = {
    "--simulate": "simulate how long children take with each distribution",
    "--with-children N,N,…": "numbers of children to simulate (8,32,256, or --children)",
    "--costs COSTS = lognormal:0.01:0.5": "seconds per event: constant:MEAN, exponential:MEAN,"
    " lognormal:MEAN:SPREAD (relative); a .npy, .json or text file with one per entry or per range"
    " of one lumi of the input; or the run directory of a job with this input (default:"
    " %(default)s)",
    "--first FRACTION:FACTOR": "extra cost of the first events: 0.03:10 (fraction:factor)",
    "--per-lumi SPREAD = 0.0": "relative spread of costs between lumis: 0.3",
    "--overhead SECONDS": "time per stretch [s] (0.007, or that of the run)",
    "--per-call SECONDS = 0.0": "fixed cost of each call of modules, besides its events (0; in"
    " Python some 0.02)",
    "--plot FILE": "write a plot of utilization",
    "--synthetic FILESxLUMISxEVENTS": "do without input: number of files, lumis per file and"
    " events per lumi",
    "--cluster N = 5000": "events per cluster (5000) of these",
}
"""Options."""


def simulate(options: argparse.Namespace, config: JobConfig, index: Sequence[FileIndex]) -> int:
    """Prints, writes and draws what was asked for."""
    if config.source.only:
        raise ConfigError("--simulate takes whole jobs: leave out source.only")
    layout = layout_of(index)
    costs = _costs(options, config, layout, [file.path for file in index])
    call_s = _time_s("--per-call", options.per_call)
    settings = Settings(_children(options), _overhead_s(options, costs), call_s)
    rows = compare(config, index, costs, settings, mask_of(config, index))
    simulation = Simulation(
        describe_input(layout), costs.name, settings.overhead_s, call_s, tuple(rows)
    )
    if options.plot is not None:
        from forkrun.studies.frame.plot import write_plot  # matplotlib

        write_plot(simulation.plot(), options.plot)
    if options.json:
        json.dump(simulation.to_json(), sys.stdout)
        print()
    else:
        print_simulation(simulation)
    return 0


def _costs(
    options: argparse.Namespace, config: JobConfig, layout: Layout, files: Sequence[str]
) -> Costs:
    path = Path(options.costs)
    if path.exists():
        if options.first is not None or options.per_lumi:
            raise ConfigError(
                "--first and --per-lumi need drawn costs (constant, exponential, lognormal), not a"
                " file"
            )
        return read_costs(path, layout, files)
    model = parse_cost_model(options.costs, options.first, options.per_lumi)
    return draw_costs(model, layout, config.job.seed)


def _overhead_s(options: argparse.Namespace, costs: Costs) -> float:
    measured_s = _OVERHEAD_S if costs.overhead_s is None else costs.overhead_s
    return _time_s("--overhead", measured_s if options.overhead is None else options.overhead)


def _time_s(option: str, time_s: float) -> float:
    if not 0 <= time_s < math.inf:
        raise ConfigError(f"{option} {time_s}: must be a number of seconds, 0 or more")
    return time_s


def _children(options: argparse.Namespace) -> tuple[int, ...]:
    if options.with_children is None:
        given = options.children
        return (given,) if given and given != AUTO else _CHILDREN
    return tuple(numbers("--with-children", options.with_children, "8,32,256", _MOST_CHILDREN))
