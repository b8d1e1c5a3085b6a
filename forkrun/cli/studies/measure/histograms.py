"""`forkrun measure histograms`: how fast histograms are filled on this machine."""

from __future__ import annotations

import argparse
import os

from forkrun.base.quantities import whole_number
from forkrun.cli.studies.measure.finish import add_study_options, check_destinations, finish_study

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
        "--threads", type=_threads, nargs="+", metavar="N",
        help="numbers of threads (1, 2, 4, … up to the number of CPUs, and twice that)",
    )  # fmt: skip
    parser.add_argument(
        "--fills", type=_fills, default=1_000_000, metavar="N", help="fills (%(default)s)"
    )
    add_study_options(parser)


def measure(options: argparse.Namespace) -> int:
    """`forkrun measure histograms`."""
    from forkrun.studies.histograms.study import measure_histograms
    from forkrun.studies.scaling.points import doubling

    check_destinations(options)
    threads = options.threads or doubling(1, 2 * len(os.sched_getaffinity(0)))
    study = measure_histograms(
        options.fills, sorted(set(threads)), options.repeats, quiet=options.quiet
    )
    return finish_study(study, options)


def _threads(text: str) -> int:
    return _at_most(text, _MOST_THREADS)


def _fills(text: str) -> int:
    return _at_most(text, _MOST_FILLS)


def _at_most(text: str, most: int) -> int:
    number = whole_number(text)
    if not 1 <= number <= most:
        raise argparse.ArgumentTypeError(f"from 1 to {most:,}")
    return number
