"""`forkrun resume`: resumes a job that did not come to its end."""

from __future__ import annotations

import argparse

from forkrun.cli.arguments import add_run_directory
from forkrun.cli.options import add_overrides
from forkrun.cli.run import add_run_options, config_with, print_result
from forkrun.parent.job import run_job
from forkrun.rundir.opening import opened

DESCRIPTION = (
    "Verify what the run directory holds, process what is missing, merge and"
    " report. The number of children and threads may be another one than before."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    add_run_directory(parser)
    add_overrides(parser)
    add_run_options(parser)


def run(options: argparse.Namespace) -> int:
    """Prints a summary of the report unless quiet."""
    with opened(options.run_directory, "resume") as (folder, _):
        options.config = str(folder.config)
        config = config_with(options)
    result = run_job(
        config, folder.path, quiet=options.quiet, plots=options.plots,
        logs=options.logs, explain=options.explain, is_new=False,
    )  # fmt: skip
    return print_result(result, options)
