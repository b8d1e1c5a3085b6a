"""`forkrun measure histograms`: how fast histograms are filled on this machine."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from forkrun.base.cpus import usable_cpus
from forkrun.cli.arguments import add_option
from forkrun.cli.studies.measure.finish import (
    number_up_to,
)

if TYPE_CHECKING:
    from forkrun.studies.frame.study import Study

HELP = "measure fills of histograms by threads, and in columns from Python"
DESCRIPTION = (
    "Fill histograms, one entry at a time, from several threads: a copy for each thread, one table"
    " with a lock, one with buffers, and forkrun's exact sums; then blocks of columns from Python,"
    " with hist and with forkrun."
)
_MOST_THREADS = 256
_N_FILLS, _MOST_FILLS = 1_000_000, 100_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this study."""
    words = "numbers of threads (1, 2, 4, … up to the number of CPUs, and twice that)"
    add_option(parser, "--threads N", words, type=number_up_to(_MOST_THREADS), nargs="+")
    words = "fills (%(default)s)"
    add_option(parser, f"--fills N = {_N_FILLS}", words, type=number_up_to(_MOST_FILLS))


def study(options: argparse.Namespace, _folder: Path) -> Study:
    """`forkrun measure histograms`."""
    from forkrun.studies.frame.repeats import doubling
    from forkrun.studies.histograms import measure_histograms

    threads = sorted(set(options.threads or doubling(1, 2 * usable_cpus())))
    return measure_histograms(options.fills, threads, options.repeats, quiet=options.quiet)
