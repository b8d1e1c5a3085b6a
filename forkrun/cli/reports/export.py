"""`forkrun export`: what was measured of a run, in formats of others."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from forkrun.base.durable import write_named
from forkrun.cli.arguments import add_option
from forkrun.errors import ConfigError
from forkrun.monitoring.export.formats import FORMATS
from forkrun.monitoring.records import read_records

DESCRIPTION = (
    "Write what was measured of a run in a format that other tools read, to a file or to stdout."
    " The run directory is only read, also while the job runs. Formats: "
    + "; ".join(f"{name}: {each.text}" for name, each in FORMATS.items())
    + "."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    parser.add_argument("run_dir", type=Path, metavar="RUNDIR", help="run directory of a job")
    parser.add_argument("format", choices=list(FORMATS), metavar="FORMAT", help=", ".join(FORMATS))
    add_option(parser, "-o, --output FILE", "file to write instead of stdout")


def run(options: argparse.Namespace) -> int:
    """Writes the file."""
    if options.output is None and options.format == "perfetto" and sys.stdout.isatty():
        raise ConfigError("export: a Perfetto trace is binary; name a file with -o FILE")
    content = FORMATS[options.format].write(options.run_dir, read_records(options.run_dir))
    if options.output is not None:
        write_named(options.output, content)
    else:
        sys.stdout.buffer.write(content)
    return 0
