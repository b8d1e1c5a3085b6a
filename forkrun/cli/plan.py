"""`forkrun plan`: which child will process which events; how long children would take with each
distribution; children × threads for a slot."""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from msgspec import to_builtins

from forkrun.base.quantities import parse_size, plural
from forkrun.cli.arguments import add_option, add_options, numbers, print_json, quantity
from forkrun.cli.options import add_config_options, config_of, naming, settings_of
from forkrun.config.choices import AUTO
from forkrun.config.model import JobConfig
from forkrun.config.read import default_config
from forkrun.errors import ConfigError
from forkrun.index.model import FileIndex
from forkrun.monitoring.tables import Table, text_of
from forkrun.parent.calls import cuts_of_classes
from forkrun.parent.job_input import mask_of, plan_input
from forkrun.parent.preparation import index_input
from forkrun.plan.model import ANY_CHILD, Plan, Unit
from forkrun.studies.simulation.compare import (
    Settings,
    Simulation,
    compare,
    describe_input,
    print_simulation,
)
from forkrun.studies.simulation.layout import (
    Costs,
    Layout,
    SyntheticInput,
    draw_costs,
    layout_of,
    parse_cost_model,
    read_costs,
    synthetic_index,
)

FIT = {
    "--fit": "probe the job with some events, then choose children × threads that fit the cores and"
    " the memory of this slot (CPU affinity, control groups, Slurm)",
    "--fit-events N = 1000": "events per probe (%(default)s)",
    "--cores N": "cores of another slot",
    "--memory SIZE": 'memory of another slot: "16 GB"',
}
"""Options."""


def run_fit(options: argparse.Namespace, config: JobConfig, index: Sequence[FileIndex]) -> int:
    """Probes, chooses and prints."""
    from forkrun.parent.job_input import plan_input
    from forkrun.studies.frame.machine import find_slot
    from forkrun.studies.frame.repeats import doubling
    from forkrun.studies.measure.fit import JobModel, choose, print_fit, probe_job

    if options.synthetic is not None:
        raise ConfigError("plan --fit: a probe needs real input; leave out --synthetic")
    for flag, value in (("--fit-events", options.fit_events), ("--cores", options.cores)):
        if value is not None and value < 1:
            raise ConfigError(f"plan {flag} {value}: must be at least 1")
    memory = quantity("plan --memory", options.memory, parse_size)
    slot = find_slot(cores=options.cores, memory_bytes=memory)
    here = find_slot()
    with naming(options.config), tempfile.TemporaryDirectory(prefix="forkrun-probe-") as folder:
        n_units = len(plan_input(config, index)[1].units)
        threads = doubling(1, min(slot.n_cores, here.n_cores))
        say = partial(print, file=sys.stderr)
        probes = probe_job(config, options.fit_events, threads, Path(folder), say)
    model = JobModel(probes)
    fit = choose(model, slot.n_cores, slot.memory.value, max(n_units, 1))
    if options.json:
        print_json({"slot": to_builtins(slot), "probes": to_builtins(probes), **fit.to_json()})
    else:
        print_fit(slot, model, fit)
    return 0 if fit.chosen else ConfigError.exit_code


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


DESCRIPTION = (
    "Index the input and print the units of work, in merge order; or simulate how"
    " long children take with each distribution."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    add_config_options(parser, needs_config=False)
    add_option(parser, "--json", "print JSON, as in plan.json of a run directory")
    add_option(parser, "--units N = 40", "number of units to print (40)")
    add_options(parser.add_argument_group("simulation"), SIMULATION)
    add_options(parser.add_argument_group("children × threads for a slot"), FIT)


def run(options: argparse.Namespace) -> int:
    """Needs no conditions, and no modules but to see whether they want lumis one by one."""
    config = _config(options)
    config, index = _index(options, config)
    if options.fit:
        return run_fit(options, config, index)
    if options.simulate:
        return simulate(options, config, index)
    with naming(options.config or "command line"):
        _, plan = plan_input(config, index)
        few = cuts_of_classes(config, plan).warning()
    warnings = [*plan.warnings, *filter(None, [few])]
    for text in [*(f"warning: {each}" for each in warnings), *plan.notes]:
        print(f"forkrun: {text}", file=sys.stderr)
    if options.json:
        json.dump(plan.to_json(), sys.stdout)
        print()
        return 0
    left = len(plan.units) - options.units
    more = (
        f"and {plural(left, 'more unit')} (--units {len(plan.units)} shows all)" if left > 0 else ""
    )
    print(text_of([units_table(plan, options.units), more, children_table(plan)]))
    return 0


def _config(options: argparse.Namespace) -> JobConfig:
    if options.config is None:
        if options.synthetic is None:
            raise ConfigError("plan: give a configuration, or --synthetic FILESxLUMISxEVENTS")
        return default_config(settings_of(options))
    return config_of(options)


def _index(options: argparse.Namespace, config: JobConfig) -> tuple[JobConfig, list[FileIndex]]:
    if options.synthetic is not None:
        return config, synthetic_index(SyntheticInput.parse(options.synthetic, options.cluster))
    with naming(options.config):
        return index_input(config)


def units_table(plan: Plan, n_shown: int) -> Table:
    """The first units, a row each."""
    counts = {"event": plan.n_events, "lumi": plan.n_lumis, "unit": len(plan.units)}
    title = ", ".join(plural(n, what) for what, n in counts.items())
    numbers = ("unit:text", "child:text", "run:text", "lumi:text", "events:count")
    rows = [
        (unit.number, "any" if unit.child == ANY_CHILD else unit.child, unit.run, unit.lumi,
         unit.n_events, _ranges(unit))
        for unit in plan.units[:n_shown]
    ]  # fmt: skip
    heads = (*numbers, "entries, file:[first, last):words")
    return Table.of(f"{title} ({plan.distribution})", heads, rows)


def _ranges(unit: Unit) -> str:
    parts = [f"{r.file}:[{r.first}, {r.last})" for r in unit.ranges[:3]]
    more = len(unit.ranges) - len(parts)
    return " ".join(parts) + (f" and {more} more" if more else "")


def children_table(plan: Plan) -> Table | None:
    """How the work is balanced; None if children take units as they become free."""
    n_events = plan.events_by_child()
    if n_events is None:
        return None
    n_units = np.bincount(plan.units.child, minlength=len(n_events))
    rows = [
        (child, n_units[child], n, n / plan.n_events if plan.n_events else None)
        for child, n in enumerate(n_events)
    ]
    heads = ("child:text", "units:count", "events:count", "share:share")
    return Table.of("children", heads, rows)
