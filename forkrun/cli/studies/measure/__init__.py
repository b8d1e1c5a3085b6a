"""`forkrun measure`: a file for each kind of study, with what all of them share in `finish.py`."""

from __future__ import annotations

import argparse
import importlib
from functools import partial

from forkrun.cli.studies.measure.finish import add_study_options, run_study

KINDS = (
    "memory", "unshared", "io", "columns", "distribution", "order", "scaling", "scheduling",
    "histograms", "growth",
)  # fmt: skip
"""Names of the files here: each has HELP, DESCRIPTION, `add_arguments`, and `study`, which gives
its result; or `measure`, which does all by itself."""

DESCRIPTION = "Measure a job, files or this machine: what published studies did, as commands."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    parsers = parser.add_subparsers(title="what to measure", required=True, metavar="WHAT")
    for name in KINDS:
        kind = importlib.import_module(f"{__name__}.{name}")
        parser = parsers.add_parser(name, help=kind.HELP, description=kind.DESCRIPTION)
        kind.add_arguments(parser)
        if hasattr(kind, "study"):
            add_study_options(parser)
            parser.set_defaults(measure=partial(run_study, kind.study))
        else:
            parser.set_defaults(measure=kind.measure)


def run(options: argparse.Namespace) -> int:
    """Measures what the user named."""
    return int(options.measure(options))
