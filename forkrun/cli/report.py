"""`forkrun report`: how a job went."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from forkrun.batch.site_formats import write_site_formats
from forkrun.parent.reporting import write_report
from forkrun.rundir.directory import RunDirectory


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command to the command line."""
    parser = subparsers.add_parser(
        "report",
        description="Reads a run directory, finished or not, writes report.json, report.txt and"
        " plots/ into it, and prints the report.",
    )
    parser.add_argument("run_dir", type=Path, metavar="RUNDIR", help="run directory of a job")
    parser.add_argument("--json", action="store_true", help="print report.json, not the text")
    parser.add_argument("--no-plots", action="store_true", help="leave the plots as they are")
    parser.add_argument(
        "--site",
        action="store_true",
        help="write RUNDIR/site: FrameworkJobReport.xml, lumis by node, Adler-32 and SHA-256",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Writes and prints the report."""
    report = write_report(args.run_dir, plots=not args.no_plots)
    if args.site:
        write_site_formats(RunDirectory(args.run_dir), report)
    if args.json:
        print(json.dumps(report, indent=1))
    else:
        print(RunDirectory(args.run_dir).report_text.read_text(encoding="utf-8"), end="")
    return 0
