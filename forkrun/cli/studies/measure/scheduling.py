"""`forkrun measure scheduling`: what scheduling costs on this machine."""

from __future__ import annotations

import argparse
from pathlib import Path

from forkrun.cli.studies.measure.finish import (
    add_study_options,
    check_destinations,
    finish_study,
)

HELP = "measure what scheduling of modules costs, and what threads gain"
DESCRIPTION = (
    "Run modules that do nothing or only take their time: plain calls against tasks, threads that"
    " have nothing to do, several events in flight, modules that exclude each other, and the"
    " critical path; print ratios, and those that were published."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this study."""
    parser.add_argument(
        "file", metavar="FILE", type=Path, nargs="?",
        help="replay file: JSON, plain or .gz (a synthetic one of 489 modules)",
    )  # fmt: skip
    add_study_options(parser)


def measure(options: argparse.Namespace) -> int:
    """`forkrun measure scheduling`."""
    from forkrun.studies.replay.read import read_replay
    from forkrun.studies.scheduling.study import measure_scheduling
    from forkrun.studies.scheduling.ways import Sizes
    from forkrun.studies.workload.generate import synthetic_job

    check_destinations(options)
    job = read_replay(options.file) if options.file else synthetic_job("hipileup")
    return finish_study(
        measure_scheduling(job, Sizes(), options.repeats, quiet=options.quiet), options
    )
