"""`forkrun report`: how a job went."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from forkrun.base.regular_file import read_regular
from forkrun.batch.site_formats import write_site_formats
from forkrun.cli.arguments import add_option, add_plots
from forkrun.errors import InputError, LockedError
from forkrun.monitoring.report.write import report_of_now, write_report
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.opening import opened

DESCRIPTION = (
    "Read a run directory, finished or not, write report.html, report.json and report.txt into"
    " it, and print the report. While another process works there, only print it."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    parser.add_argument("run_dir", type=Path, metavar="RUNDIR", help="run directory of a job")
    add_option(parser, "--json", "print JSON instead of text")
    add_plots(parser, "write plots for papers into RUNDIR/plots, as PNG, SVG and PDF")
    words = "write RUNDIR/site: FrameworkJobReport.xml, lumis by node, Adler-32 and SHA-256"
    add_option(parser, "--site", words)


def run(args: argparse.Namespace) -> int:
    """Writes and prints the report; while another process works there, it is only printed."""
    report, text = _report(args)
    print(json.dumps(report, indent=1) + "\n" if args.json else text, end="")
    return 0


def _report(args: argparse.Namespace) -> tuple[dict[str, Any], str]:
    folder = RunDirectory(args.run_dir)
    if not folder.config.exists():
        raise InputError(f"{args.run_dir}: not a run directory (it has no {folder.config.name})")
    try:
        with opened(args.run_dir, "report", is_damaged=True) as (_, lock), lock.kept_by_thread():
            report = write_report(args.run_dir, plots=args.plots)
            if args.site:
                write_site_formats(folder, report)
            return report, read_regular(folder.report_text).decode()
    except LockedError:
        if args.site:
            raise
        what = "another forkrun works there: nothing is written, this is how it is now"
        print(f"forkrun: {args.run_dir}: {what}", file=sys.stderr)
        return report_of_now(args.run_dir)
