"""`forkrun check`: everything that can be wrong before a job runs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from forkrun.base.quantities import whole_number
from forkrun.cli.options import add_config_options, config_of, naming
from forkrun.conditions.record import summary
from forkrun.errors import ConfigError, VerificationError
from forkrun.parent.preparation import PreparedJob, prepare

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

_EVENTS = 20_000


def add_parser(subparsers: Subparsers) -> None:
    """Adds the parser of this command."""
    parser = subparsers.add_parser(
        "check",
        description="Read the configuration, index the input, load conditions and modules and"
        " compile the schedule; name every problem found. With --blocks, run the first events in"
        " blocks of several sizes, and name each module whose results depend on them (exit code"
        " 6).",
    )
    add_config_options(parser)
    group = parser.add_argument_group("blocks")
    group.add_argument(
        "--blocks",
        action="store_true",
        help="do results of modules depend on the size of blocks? compares columns, decisions of"
        " filters and histograms to the last bit",
    )
    group.add_argument(
        "--events",
        type=whole_number,
        metavar="N",
        help=f"with --blocks: the first events to run ({_EVENTS})",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Says what was checked."""
    if options.events is not None and not (options.blocks and options.events):
        raise ConfigError("--events N: the number of events, from 1 on, that --blocks runs")
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
    if options.blocks:
        _check_blocks(job, options.events or _EVENTS)
    return 0


def _check_blocks(job: PreparedJob, n_events: int) -> None:
    from forkrun.studies.blocks import check_blocks, describe

    checked = check_blocks(job, n_events)
    if checked.found:
        raise VerificationError(describe(checked))
    print(describe(checked))
