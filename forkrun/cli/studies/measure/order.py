"""`forkrun measure order`: what the order of a file costs whoever reads it lumi by lumi."""

from __future__ import annotations

import argparse
from pathlib import Path

from forkrun.base.quantities import whole_number
from forkrun.cli.studies.measure.finish import (
    add_study_options,
    check_destinations,
    finish_study,
    folder_for_runs,
)
from forkrun.config import validate
from forkrun.config.anchor import anchored
from forkrun.errors import ConfigError

HELP = "compare files with lumis together and scattered, read lumi by lumi"
DESCRIPTION = (
    "Copy events with the lumis in one piece each, and scattered as children leave them that take"
    " one event in turn; print what is read of both, lumi by lumi, by a framework that keeps a"
    " basket of each branch, and by forkrun."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this study."""
    parser.add_argument("files", metavar="FILE", nargs="+", help="files of events")
    parser.add_argument("--tree", metavar="NAME", default="Events", help="tree of events (Events)")
    parser.add_argument(
        "--max-events", type=whole_number, metavar="N", default=20_000,
        help="events that are copied at most (%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--children", type=whole_number, metavar="N", default=32,
        help="children that left the scattered copy (%(default)s)",
    )  # fmt: skip
    add_study_options(parser)


def measure(options: argparse.Namespace) -> int:
    """`forkrun measure order`."""
    from forkrun.index.files import input_files
    from forkrun.studies.order.study import measure_order

    check_destinations(options)
    if options.children < 1 or options.max_events < 1:
        raise ConfigError("measure order: --children and --max-events: from 1")
    files = [anchored(file, Path.cwd()) for file in options.files]
    source = validate({"source": {"files": files, "tree": options.tree}}, files[0]).source
    with folder_for_runs(None) as folder:
        study = measure_order(
            input_files(source), source.ids, Path(folder), options.max_events, options.children,
            options.repeats, quiet=options.quiet,
        )  # fmt: skip
    return finish_study(study, options)
