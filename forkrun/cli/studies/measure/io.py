"""`forkrun measure io`: what children really read."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from forkrun.base.quantities import whole_number
from forkrun.cli.arguments import add_option
from forkrun.cli.options import add_config_options, config_of, naming

if TYPE_CHECKING:
    from forkrun.studies.frame.study import Study

HELP = "count what children read, by how events are shared among them"
DESCRIPTION = (
    "Run the job with N consecutive events for each child in turn (round-robin; max: contiguous),"
    " guided, and with one child; print read calls, their mean size, and bytes that are read more"
    " than once, with the input in memory (warm) and not (cold)."
)
_N_CHILDREN = 32
_MAX = "max"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this study."""
    add_config_options(parser)
    default = [1, 10, 100, None]
    words = "events in a row of one child: numbers, or max (1 10 100 max)"
    add_option(parser, "--consecutive N", words, type=_consecutive, nargs="+", default=default)
    words = "whether the input is in memory when a job begins (%(default)s)"
    add_option(parser, "--cache {cold,warm,both} = both", words)


def study(options: argparse.Namespace, folder: Path) -> Study:
    """`forkrun measure io`."""
    from forkrun.studies.reading import measure_reading

    if options.children is None:
        options.children = _N_CHILDREN
    caches = ("cold", "warm") if options.cache == "both" else (options.cache,)
    config, consecutive = config_of(options), list(dict.fromkeys(options.consecutive))
    with naming(options.config):
        return measure_reading(
            config, folder, consecutive, caches, options.repeats, quiet=options.quiet
        )


def _consecutive(text: str) -> int | None:
    """Events in a row; None: max."""
    n_events = None if text == _MAX else whole_number(text)
    if n_events is not None and n_events < 1:
        raise argparse.ArgumentTypeError("numbers from 1, or max")
    return n_events
