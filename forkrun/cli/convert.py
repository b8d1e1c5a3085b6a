"""`forkrun convert`: trees as RNTuples, and RNTuples as trees."""

from __future__ import annotations

import argparse
from pathlib import Path

from forkrun.cli.arguments import add_option
from forkrun.cli.merge import add_options_of_files, merge_files_of

DESCRIPTION = (
    "Write the contents of the inputs, one after the other, to the last-named file: all trees as"
    " RNTuples, or all RNTuples as trees, column by column; histograms and other objects as"
    " `forkrun merge` has them. What is of the wanted format already is copied."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    parser.usage = "forkrun convert IN.root [IN2.root …] OUT.root [options]"
    parser.add_argument("inputs", metavar="IN.root", nargs="+")
    parser.add_argument("output", metavar="OUT.root", type=Path)
    words = "format of all tables in OUT.root (default: rntuple)"
    add_option(parser, "--format {ttree,rntuple} = rntuple", words)
    add_options_of_files(parser)


def run(options: argparse.Namespace) -> int:
    """Converts files. Pages without checksums, as uproot writes them, get some."""
    return merge_files_of(options, options.inputs, options.output, needs_checksums=False)
