"""`forkrun run`: the whole job."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forkrun.api import default_run_directory
from forkrun.cli.options import add_config_options, config_of, naming
from forkrun.job import run_job

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add_parser(subparsers: Subparsers) -> None:
    """Of this command."""
    parser = subparsers.add_parser(
        "run",
        help="run a job",
        description="Index the input, fork children, process, merge and report.",
    )
    add_config_options(parser)
    parser.add_argument(
        "-o", "--output", type=Path, metavar="RUNDIR", help="run directory (default: NAME-run)"
    )
    parser.add_argument("--force", action="store_true", help="replace an earlier run directory")
    parser.add_argument("--no-merge", action="store_true", help="leave it to forkrun merge RUNDIR")
    parser.add_argument(
        "--trace", action="store_true", help="write RUNDIR/trace.json for ui.perfetto.dev"
    )
    parser.add_argument("--no-plots", action="store_false", dest="plots", help="no PNG and SVG")
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints the report's text unless quiet."""
    if options.no_merge:
        options.settings = [*options.settings, "merge.enabled=false"]
    if options.trace:
        options.settings = [*options.settings, "monitoring.trace=true"]
    config = config_of(options)
    folder: Any = options.output or default_run_directory(config)
    with naming(options.config):
        result = run_job(
            config,
            folder,
            force=options.force,
            quiet=options.quiet,
            plots=options.plots,
        )
    if not options.quiet:
        print((result.run_directory / "report.txt").read_text(encoding="utf-8"), end="")
        for file in [*result.outputs.values(), *filter(None, [result.histograms])]:
            print(file)
    return 0
