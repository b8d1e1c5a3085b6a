"""`forkrun measure columns`: what the columns of a file cost, alone and in parallel."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from forkrun.base.cpus import usable_cpus
from forkrun.cli.arguments import add_option
from forkrun.config import validate
from forkrun.config.anchor import anchored
from forkrun.errors import ConfigError

if TYPE_CHECKING:
    from forkrun.studies.frame.study import Study

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
    words = 'patterns of names: "Muon_*", or a part of a name (all columns)'
    parser.add_argument("inputs", metavar="COLUMN", nargs="*", help=words)
    add_option(parser, f"--tree NAME = {_TREE}", "tree of events (Events)")
    n_threads = min(2, usable_cpus())
    add_option(parser, f"--threads N = {n_threads}", "threads, and blocks in flight (2)")


def study(options: argparse.Namespace, _folder: Path) -> Study:
    """`forkrun measure columns`."""
    from forkrun.schedule.input_columns import columns_of_input
    from forkrun.studies.columns import measure_columns

    if not 1 <= options.threads <= _MOST_THREADS:
        raise ConfigError(f"measure columns: --threads: from 1 to {_MOST_THREADS}")
    path = anchored(options.file, Path.cwd())
    config = validate({"source": {"files": [path], "tree": options.tree}}, options.file)
    found = columns_of_input(config).matching(options.inputs)
    names = [column.name for column in found if not column.why_none and not column.n_within]
    if not names:
        raise ConfigError(f"measure columns: {options.file}: none of these branches is a column")
    return measure_columns(
        path, options.tree, names, options.threads, options.repeats, quiet=options.quiet
    )
