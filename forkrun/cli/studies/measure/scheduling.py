"""`forkrun measure scheduling`: what scheduling costs on this machine."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forkrun.studies.frame.study import Study

HELP = "measure what scheduling of modules costs, and what threads gain"
DESCRIPTION = (
    "Run modules that do nothing or only take their time: plain calls against tasks, threads that"
    " have nothing to do, several events in flight, modules that exclude each other, and the"
    " critical path; print ratios, and those that were published."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this study."""
    words = "replay file: JSON, plain or .gz (a synthetic one of 489 modules)"
    parser.add_argument("file", metavar="FILE", type=Path, nargs="?", help=words)


def study(options: argparse.Namespace, _folder: Path) -> Study:
    """`forkrun measure scheduling`."""
    from forkrun.studies.replay.read import read_replay
    from forkrun.studies.scheduling import Sizes, measure_scheduling
    from forkrun.studies.workload.generate import synthetic_job

    job = read_replay(options.file) if options.file else synthetic_job("hipileup")
    return measure_scheduling(job, Sizes(), options.repeats, quiet=options.quiet)
