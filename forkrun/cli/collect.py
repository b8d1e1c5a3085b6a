"""`forkrun collect`: merges what the nodes of a job have done."""

from __future__ import annotations

import argparse
from pathlib import Path

from forkrun.batch.collecting import collect
from forkrun.cli.run import add_how_much, print_result


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the parser of this command."""
    parser = subparsers.add_parser(
        "collect",
        description="Verify and merge what all nodes of a job have committed. The outputs have the"
        " same bytes as those of the job on one node.",
    )
    parser.add_argument("run_directory", metavar="RUNDIR", type=Path)
    parser.add_argument("--partial", action="store_true", help="merge what is there")
    add_how_much(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints the report and the names of files."""
    result = collect(options.run_directory, partial=options.partial, quiet=options.quiet)
    return print_result(result, options.quiet, options.verbose)
