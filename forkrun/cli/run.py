"""`forkrun run`: the whole job, or what is left of it."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from forkrun.cli.arguments import add_option, add_options, add_plots, print_json
from forkrun.cli.options import add_config_options, config_of, naming
from forkrun.config.model import JobConfig
from forkrun.errors import EVENTS_LEFT_OUT
from forkrun.parent.job import run_job
from forkrun.parent.result import Result
from forkrun.rundir.directory import RunDirectory

DESCRIPTION = (
    "Index the input, fork children, process, merge and report. A run directory"
    " that holds the beginning of the same job is resumed."
)
_HOW_MUCH = {
    "-q, --quiet": "print errors only",
    "-v, --verbose": "print the whole report, not a summary",
    "--json": "print the report and the names of files as JSON; progress is on stderr",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    add_config_options(parser)
    add_option(parser, "-o, --output RUNDIR", "run directory (default: NAME-run)")
    add_option(parser, "--force", "replace an existing run directory")
    words = "process only this event; repeatable"
    add_option(parser, "--only RUN:LUMI:EVENT", words, action="append", default=[])
    add_run_options(parser)


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that `run` and `resume` share."""
    add_option(parser, "--no-merge", "do not merge; forkrun merge RUNDIR does it later")
    add_option(parser, "--trace", "write RUNDIR/trace.json for ui.perfetto.dev")
    words = "report memory by kind, and which becomes private in children, and why"
    add_option(parser, "--memory-detail", words)
    words = (
        "write plots for papers, too, as PNG, SVG and PDF (forkrun report --plots RUNDIR"
        " does it later)"
    )
    add_plots(parser, words)
    words = "say of each result whether it is kept of an earlier run here, or why it is computed"
    add_option(parser, "--explain", words)
    add_option(parser, "--logs", "show what modules print, which goes to RUNDIR/logs")
    add_how_much(parser)


def add_how_much(parser: argparse.ArgumentParser) -> None:
    """Adds -q, -v and --json."""
    add_options(parser.add_mutually_exclusive_group(), _HOW_MUCH)


def run(options: argparse.Namespace) -> int:
    """Prints a summary of the report unless quiet."""
    if options.only:
        options.settings = [*options.settings, f"source.only={options.only!r}"]
    config = config_with(options)
    folder: Any = options.output or config.run_directory
    with naming(options.config):
        result = run_job(
            config, folder, force=options.force, quiet=options.quiet, plots=options.plots,
            logs=options.logs, explain=options.explain,
        )  # fmt: skip
    return print_result(result, options)


def config_with(options: argparse.Namespace) -> JobConfig:
    """The configuration, with the options of `add_run_options` applied as well."""
    if options.no_merge:
        options.settings = [*options.settings, "merge.enabled=false"]
    if options.trace:
        options.settings = [*options.settings, "monitoring.trace=true"]
    if options.memory_detail:
        options.settings = [*options.settings, "monitoring.memory_detail=true"]
    return config_of(options)


def print_result(result: Result, options: argparse.Namespace, others: Sequence[Path] = ()) -> int:
    """Prints a summary, or the whole report, and the names of files, as `add_how_much` has it.
    `others`: more files. Returns the exit code."""
    files = [*result.files, *others]
    if options.json:
        named = {"run_directory": result.run_directory, "files": files}
        print_json({**named, "report": result.report})
    elif not options.quiet:
        print(_text(result, options.verbose), end="")
        print(*files, sep="\n")
    return EVENTS_LEFT_OUT if result.n_events_left_out else 0


def _text(result: Result, verbose: bool) -> str:
    """ "" if the report could not be written, which has been reported."""
    if not result.report:
        return ""
    if not verbose:
        from forkrun.monitoring.report.notebook import format_brief  # --quiet does not need it

        return format_brief(result.report, os.path.relpath(result.run_directory))
    with contextlib.suppress(OSError):
        return RunDirectory(result.run_directory).report_text.read_text(encoding="utf-8")
    return ""
