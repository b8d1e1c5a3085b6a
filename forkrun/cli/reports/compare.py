"""`forkrun compare`: runs side by side."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from msgspec import to_builtins

from forkrun.base.durable import write_user_file
from forkrun.cli.arguments import add_option, print_json
from forkrun.errors import ConfigError
from forkrun.monitoring.comparison.compare import FIGURES, Condition, compare, read_run
from forkrun.monitoring.comparison.faces import comparison_page, format_comparison

DESCRIPTION = (
    "Compare the reports of several runs: rates, memory, times of modules, and whether outputs hold"
    " the same events. Runs of one configuration by one build on one machine are repeats: their"
    " median is shown with its noise. Ratios are to the first."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    words = "run directories of jobs"
    parser.add_argument("run_dirs", nargs="+", type=Path, metavar="RUNDIR", help=words)
    words = (
        'exit with 1 if this holds of a ratio to the first, as "rate < 0.9" or'
        ' "memory > 1.1"; may be given several times; figures: ' + ", ".join(FIGURES)
    )
    add_option(parser, "--fail-if CONDITION", words, action="append", default=[])
    add_option(parser, "--html FILE", "write a page, too")
    add_option(parser, "--json", "print JSON instead of text")


def run(options: argparse.Namespace) -> int:
    """Prints the comparison. Gives 1 if a condition holds, or nobody knows whether it does."""
    conditions = [Condition.parsed(text) for text in options.fail_if]
    paths = list(dict.fromkeys(path.resolve() for path in options.run_dirs))
    if len(paths) < 2:
        raise ConfigError("compare: name two run directories or more")
    columns = compare([read_run(path) for path in dict.fromkeys(options.run_dirs)])
    if conditions and len(columns) < 2:
        raise ConfigError("--fail-if: all runs are repeats of one job, so add another")
    if options.html is not None:
        write_user_file(options.html, comparison_page(columns))
    if options.json:
        print_json({"columns": to_builtins(columns)})
    else:
        print(format_comparison(columns), end="")
    failed = [
        f"{column.runs[0].name}: {condition.described_for(column)}"
        for column in columns[1:]
        for condition in conditions
        if condition.holds(column)
    ]
    for text in failed:
        print(f"forkrun: {text}", file=sys.stderr)
    return 1 if failed else 0
