"""`forkrun measure io`: what children really read."""

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
    parser.add_argument(
        "--consecutive", type=_consecutive, nargs="+", metavar="N", default=[1, 10, 100, None],
        help="events in a row of one child: numbers, or max (1 10 100 max)",
    )  # fmt: skip
    parser.add_argument(
        "--cache", choices=("cold", "warm", "both"), default="both",
        help="whether the input is in memory when a job begins (%(default)s)",
    )  # fmt: skip
    add_study_options(parser)


def measure(options: argparse.Namespace) -> int:
    """`forkrun measure io`."""
    from forkrun.studies.reading.study import measure_reading

    check_destinations(options)
    if options.children is None:
        options.children = _N_CHILDREN
    caches = ("cold", "warm") if options.cache == "both" else (options.cache,)
    config, consecutive = config_of(options), list(dict.fromkeys(options.consecutive))
    with folder_for_runs(None) as folder, naming(options.config):
        study = measure_reading(
            config, Path(folder), consecutive, caches, options.repeats, quiet=options.quiet
        )
    return finish_study(study, options)


def _consecutive(text: str) -> int | None:
    """Events in a row; None: max."""
    n_events = None if text == _MAX else whole_number(text)
    if n_events is not None and n_events < 1:
        raise argparse.ArgumentTypeError("numbers from 1, or max")
    return n_events
