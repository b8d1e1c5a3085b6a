"""`forkrun measure distribution`: how evenly children share the events."""

from __future__ import annotations

import argparse
from pathlib import Path

from forkrun.base.quantities import whole_number
from forkrun.cli.options import add_config_options, config_of, naming
from forkrun.cli.studies.measure.finish import (
    add_study_options,
    check_destinations,
    finish_study,
    folder_for_runs,
)
from forkrun.errors import ConfigError

HELP = "compare how busy distributions keep children"
DESCRIPTION = (
    "Run the job in each distribution; print utilization, dispersion and end times of its children."
    " forkrun plan --simulate does the same for any number of children, without running anything."
)
_TURNS = [1, 100]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this study."""
    add_config_options(parser)
    parser.add_argument(
        "--turns", type=_turn, nargs="+", metavar="N", default=_TURNS,
        help="events per turn of round-robin (1 100)",
    )  # fmt: skip
    add_study_options(parser)


def measure(options: argparse.Namespace) -> int:
    """`forkrun measure distribution`."""
    from forkrun.studies.distribution.study import measure_distribution

    check_destinations(options)
    config = config_of(options)
    if config.forking.children < 1:
        raise ConfigError("measure distribution: at least one child is needed")
    turns = list(dict.fromkeys(options.turns))
    with folder_for_runs(None) as folder, naming(options.config):
        study = measure_distribution(
            config, Path(folder), turns, options.repeats, quiet=options.quiet
        )
    return finish_study(study, options)


def _turn(text: str) -> int:
    n_events = whole_number(text)
    if n_events < 1:
        raise argparse.ArgumentTypeError("numbers from 1")
    return n_events
