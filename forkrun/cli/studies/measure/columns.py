"""`forkrun measure columns`: what the columns of a file cost, alone and in parallel."""

from __future__ import annotations

import argparse
from pathlib import Path

from forkrun.base.cpus import usable_cpus
from forkrun.base.quantities import whole_number
from forkrun.cli.studies.measure.finish import add_study_options, check_destinations, finish_study
from forkrun.config import validate
from forkrun.config.anchor import anchored
from forkrun.errors import ConfigError

HELP = "show what columns cost to read, and how well threads share that"
DESCRIPTION = (
    "Read columns of a file: read, unzip and decode time of each, then columns of one block in"
    " parallel, against the best that the slowest column allows, and several blocks in parallel."
)
_TREE = "Events"
_MOST_THREADS = 256


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this study."""
    parser.add_argument("file", metavar="FILE", help="file of events")
    parser.add_argument(
        "inputs", metavar="COLUMN", nargs="*",
        help='patterns of names: "Muon_*", or a part of a name (all columns)',
    )  # fmt: skip
    parser.add_argument("--tree", metavar="NAME", default=_TREE, help="tree of events (Events)")
    parser.add_argument(
        "--threads", type=whole_number, metavar="N", default=min(2, usable_cpus()),
        help="threads, and blocks in flight (2)",
    )  # fmt: skip
    add_study_options(parser)


def measure(options: argparse.Namespace) -> int:
    """`forkrun measure columns`."""
    from forkrun.schedule.input_columns import columns_of_input
    from forkrun.studies.columns.study import measure_columns

    check_destinations(options)
    if not 1 <= options.threads <= _MOST_THREADS:
        raise ConfigError(f"measure columns: --threads: from 1 to {_MOST_THREADS}")
    path = anchored(options.file, Path.cwd())
    config = validate({"source": {"files": [path], "tree": options.tree}}, options.file)
    found = columns_of_input(config).matching(options.inputs)
    names = [column.name for column in found if not column.why_none and not column.n_within]
    if not names:
        raise ConfigError(f"measure columns: {options.file}: none of these branches is a column")
    study = measure_columns(
        path, options.tree, names, options.threads, options.repeats, quiet=options.quiet
    )
    return finish_study(study, options)
