"""`forkrun measure histograms`: how fast histograms are filled on this machine."""

from __future__ import annotations

import argparse

from forkrun.base.cpus import usable_cpus
from forkrun.cli.studies.measure.finish import (
    add_study_options,
    check_destinations,
    finish_study,
    number_up_to,
)

HELP = "measure fills of histograms by threads, and in columns from Python"
DESCRIPTION = (
    "Fill histograms, one entry at a time, from several threads: a copy for each thread, one table"
    " with a lock, one with buffers, and forkrun's exact sums; then blocks of columns from Python,"
    " with hist and with forkrun."
)
_MOST_THREADS = 256
_MOST_FILLS = 100_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this study."""
    parser.add_argument(
        "--threads", type=number_up_to(_MOST_THREADS), nargs="+", metavar="N",
        help="numbers of threads (1, 2, 4, … up to the number of CPUs, and twice that)",
    )  # fmt: skip
    parser.add_argument(
        "--fills",
        type=number_up_to(_MOST_FILLS),
        default=1_000_000,
        metavar="N",
        help="fills (%(default)s)",
    )
    add_study_options(parser)


def measure(options: argparse.Namespace) -> int:
    """`forkrun measure histograms`."""
    from forkrun.studies.frame.doubling import doubling
    from forkrun.studies.histograms.study import measure_histograms

    check_destinations(options)
    threads = options.threads or doubling(1, 2 * usable_cpus())
    study = measure_histograms(
        options.fills, sorted(set(threads)), options.repeats, quiet=options.quiet
    )
    return finish_study(study, options)
