"""`forkrun export`: what was measured of a run, in formats of others."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from forkrun.base.durable import write_user_file
from forkrun.cli.arguments import add_option
from forkrun.errors import ConfigError
from forkrun.monitoring.export.formats import FORMATS
from forkrun.monitoring.records import read_records

_TEMPLATES = {
    "pyhf": "histograms by dataset and variation as a workspace for pyhf and cabinetry",
    "combine": "the same as datacard.txt and shapes.root for Combine, in the folder -o",
}
DESCRIPTION = (
    "Write what was measured of a run in a format that other tools read, to a file or to stdout."
    " The run directory is only read, also while the job runs. Formats: "
    + "; ".join(
        [
            *(f"{n}: {f.text}" for n, f in FORMATS.items()),
            *(f"{n}: {text}" for n, text in _TEMPLATES.items()),
        ]
    )
    + "."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    parser.add_argument("run_dir", type=Path, metavar="RUNDIR", help="run directory of a job")
    formats = [*FORMATS, *_TEMPLATES]
    parser.add_argument("format", choices=formats, metavar="FORMAT", help=", ".join(formats))
    add_option(parser, "-o, --output FILE", "file to write instead of stdout; combine: a folder")
    words = "pyhf, combine: histogram to take as a channel, several times; all of one axis"
    add_option(parser, "--histogram NAME", words, action="append")
    add_option(parser, "--signal DATASET", "pyhf, combine: dataset whose strength is fitted")


def run(options: argparse.Namespace) -> int:
    """Writes the file."""
    if options.format in _TEMPLATES:
        return _write_templates(options)
    if options.output is None and options.format == "perfetto" and sys.stdout.isatty():
        raise ConfigError("export: a Perfetto trace is binary; name a file with -o FILE")
    content = FORMATS[options.format].write(options.run_dir, read_records(options.run_dir))
    if options.output is not None:
        write_user_file(options.output, content)
    else:
        sys.stdout.buffer.write(content)
    return 0


def _write_templates(options: argparse.Namespace) -> int:
    from forkrun.histograms.final.templates import channels_of, write_combine, write_pyhf
    from forkrun.parent.result import Result  # formats of what was measured need neither

    if options.signal is None:
        raise ConfigError(f"export {options.format}: name the signal: --signal DATASET")
    result = Result.read(options.run_dir)
    channels = channels_of(result.histograms, options.histogram, result.names_of_data)
    if options.format == "pyhf":
        write_pyhf(options.output or Path("/dev/stdout"), channels, options.signal)
    elif options.output is None:
        raise ConfigError("export combine: name a folder with -o DIR")
    else:
        write_combine(options.output, channels, options.signal)
    return 0
