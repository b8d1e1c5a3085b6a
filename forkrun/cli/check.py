"""`forkrun check`: everything that can be wrong before a job runs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from forkrun.cli.options import add_config_options, config_of, naming
from forkrun.conditions.record import summary
from forkrun.parent.preparation import prepare

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add_parser(subparsers: Subparsers) -> None:
    """Adds the parser of this command."""
    parser = subparsers.add_parser(
        "check",
        description="Read the configuration, index the input, load conditions and modules and"
        " compile the schedule; name every problem found.",
    )
    add_config_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Says what was checked."""
    config = config_of(options)
    with naming(options.config):
        job = prepare(config)
    print(
        f"{options.config}: this job can run: {job.plan.n_events:,} events in"
        f" {job.plan.n_lumis:,} lumis of {len(job.plan.files):,} files,"
        f" {len(config.modules)} modules,"
        f" {len(config.paths)} paths, {len(config.outputs)} outputs;"
        f" modules read {len(job.schedule.consumed)} of the input's columns"
        + (f"; {summary(job.schedule.conditions)}" if config.conditions else "")
    )
    return 0
