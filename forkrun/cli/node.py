"""`forkrun node`: what a batch job runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from forkrun.base.quantities import parse_duration, parse_size, whole_number
from forkrun.batch.node import run_node
from forkrun.errors import ConfigError

DESCRIPTION = (
    "Process the remaining units of one node of a submitted job. The batch scripts"
    " that"
    " forkrun submit writes run this command; it can also be run by hand."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    parser.add_argument("run_directory", metavar="RUNDIR", type=Path)
    parser.add_argument("number", metavar="NODE", type=whole_number)
    parser.add_argument("--time-left", metavar="TIME", help="time until the batch job ends")
    parser.add_argument(
        "--max-memory", metavar="SIZE", help="memory limit for all processes together"
    )
    parser.add_argument(
        "--scratch", metavar="FOLDER", help="local folder to work in; commits are copied to RUNDIR"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="print errors only")


def run(options: argparse.Namespace) -> int:
    """Exit code 9: out of time or evicted, to be started again."""
    try:
        time_left = None if options.time_left is None else parse_duration(options.time_left)
        memory = None if options.max_memory is None else parse_size(options.max_memory)
    except ValueError as error:
        raise ConfigError(f"node: {error}") from None
    run_node(
        options.run_directory,
        options.number,
        time_left_s=None if time_left is None else float(str(time_left)),
        memory_bytes=None if memory is None else int(str(memory)),
        scratch=options.scratch,
        quiet=options.quiet,
    )
    return 0
