"""`forkrun plan`: which child will process which events."""

from __future__ import annotations

import argparse
import json
import sys

import numpy as np

from forkrun.base.quantities import plural
from forkrun.cli.arguments import add_option, add_options
from forkrun.cli.options import add_config_options, config_of, naming, settings_of
from forkrun.cli.plan.fit import FIT, run_fit
from forkrun.cli.plan.simulation import SIMULATION, simulate
from forkrun.config import JobConfig, default_config
from forkrun.errors import ConfigError
from forkrun.index import FileIndex
from forkrun.monitoring.report.parts import text_of
from forkrun.monitoring.tables import Table
from forkrun.parent.calls import cuts_of_classes
from forkrun.parent.job_input import plan_input
from forkrun.parent.preparation import index_input
from forkrun.plan import ANY_CHILD, Plan, Unit
from forkrun.studies.simulation.layout import SyntheticInput, synthetic_index

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
