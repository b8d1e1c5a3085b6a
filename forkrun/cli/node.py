"""`forkrun node`: what a batch job runs."""

from __future__ import annotations

import argparse

from forkrun.base.quantities import parse_duration, parse_size, whole_number
from forkrun.batch.node import run_node
from forkrun.cli.arguments import add_options, add_run_directory, quantity

_OPTIONS = {
    "--time-left TIME": "time until the batch job ends",
    "--max-memory SIZE": "memory limit for all processes together",
    "--scratch FOLDER": "local folder to work in; commits are copied to RUNDIR",
    "-q, --quiet": "print errors only",
}
DESCRIPTION = (
    "Process the remaining units of one node of a submitted job. The batch scripts"
    " that"
    " forkrun submit writes run this command; it can also be run by hand."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    add_run_directory(parser)
    parser.add_argument("number", metavar="NODE", type=whole_number)
    add_options(parser, _OPTIONS)


def run(options: argparse.Namespace) -> int:
    """Exit code 9: out of time or evicted, to be started again."""
    memory = quantity("node --max-memory", options.max_memory, parse_size)
    run_node(
        options.run_directory,
        options.number,
        time_left_s=quantity("node --time-left", options.time_left, parse_duration),
        memory_bytes=None if memory is None else int(memory),
        scratch=options.scratch,
        quiet=options.quiet,
    )
    return 0
