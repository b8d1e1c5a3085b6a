"""`forkrun measure distribution`: how evenly children share the events."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from forkrun.base.quantities import whole_number
from forkrun.cli.arguments import add_option
from forkrun.cli.options import add_config_options, config_of, naming
from forkrun.errors import ConfigError

if TYPE_CHECKING:
    from forkrun.studies.frame.study import Study

HELP = "compare how busy distributions keep children"
DESCRIPTION = (
    "Run the job in each distribution; print utilization, dispersion and end times of its children."
    " forkrun plan --simulate does the same for any number of children, without running anything."
)
_TURNS = [1, 100]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this study."""
    add_config_options(parser)
    words = "events per turn of round-robin (1 100)"
    add_option(parser, "--turns N", words, type=_turn, nargs="+", default=_TURNS)


def study(options: argparse.Namespace, folder: Path) -> Study:
    """`forkrun measure distribution`."""
    from forkrun.studies.distribution import measure_distribution

    config = config_of(options)
    if config.forking.children < 1:
        raise ConfigError("measure distribution: at least one child is needed")
    turns = list(dict.fromkeys(options.turns))
    with naming(options.config):
        return measure_distribution(config, folder, turns, options.repeats, quiet=options.quiet)


def _turn(text: str) -> int:
    n_events = whole_number(text)
    if n_events < 1:
        raise argparse.ArgumentTypeError("numbers from 1")
    return n_events
