"""`forkrun measure growth`: how what a job costs grows with its parts."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from forkrun.cli.arguments import add_option
from forkrun.errors import ConfigError

if TYPE_CHECKING:
    from forkrun.studies.frame.study import Study

HELP = "show how costs grow with modules, histograms, lumis, files, branches, …"
DESCRIPTION = (
    "Run jobs with more and more of one thing, each with twice as many as the one before; print the"
    " CPU time of all processes, what one more costs, and what grows more than linearly."
)
_NAMES = (
    "modules", "histograms", "bins", "paths", "outputs", "lumis", "files", "branches", "datasets",
    "children",
)  # fmt: skip
_PART = 0.1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this study."""
    words = "numbers of these grow (all)"
    parser.add_argument("series", metavar="WHAT", nargs="*", help=f"{words}: {', '.join(_NAMES)}")
    words = "part of 2,000 modules, 10,000 histograms, 100,000 lumis, … (%(default)s)"
    add_option(parser, f"--part FRACTION = {_PART}", words, type=float)


def study(options: argparse.Namespace, folder: Path) -> Study:
    """`forkrun measure growth`."""
    from forkrun.studies.growth import measure_growth

    unknown = [name for name in options.series if name not in _NAMES]
    if unknown:
        raise ConfigError(f"measure growth: {unknown[0]}: one of {', '.join(_NAMES)}")
    if not 0 < options.part <= 1:
        raise ConfigError("measure growth: --part: more than 0, up to 1")
    names = list(dict.fromkeys(options.series or _NAMES))
    return measure_growth(names, options.part, folder, options.repeats, quiet=options.quiet)
