"""`forkrun collect`: merges what the nodes of a job have done."""

from __future__ import annotations

import argparse

from forkrun.base.quantities import parse_duration
from forkrun.base.user_text import short
from forkrun.batch.collecting import collect, collect_part
from forkrun.cli.arguments import add_options, add_run_directory, quantity
from forkrun.cli.run import add_how_much, print_result
from forkrun.errors import COLLECTED_IN_PART, ConfigError

_OPTIONS = {
    "--wait TIME = 0s": "wait up to TIME for another forkrun that works in RUNDIR (default: 0)",
    "--partial": "merge the finished units into RUNDIR/partial",
    "--part K/N": "make only part K of N of the outputs (K from 0), for a merge by several jobs:"
    " forkrun collect RUNDIR joins them",
}
DESCRIPTION = (
    "Verify and merge what all nodes of a job have committed. The outputs have the"
    " same bytes as those of the job on one node."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    add_run_directory(parser)
    add_options(parser, _OPTIONS)
    add_how_much(parser)


def run(options: argparse.Namespace) -> int:
    """Prints the report and the names of files."""
    if options.part is not None:
        collect_part(options.run_directory, *_numbers(options.part))
        return 0
    wait_s = quantity("collect --wait", options.wait, parse_duration) or 0.0
    result, in_part = collect(
        options.run_directory, partial=options.partial, quiet=options.quiet, wait_s=wait_s
    )
    if in_part:
        print_result(result, options, in_part)
        return COLLECTED_IN_PART
    return print_result(result, options)


def _numbers(text: str) -> tuple[int, int]:
    number, _, n_parts = text.partition("/")
    if not (number.isdecimal() and n_parts.isdecimal() and len(text) < 16):
        raise ConfigError(f"collect --part {short(text)}: write K/N, such as 0/20")
    return int(number), int(n_parts)
