"""`forkrun measure order`: cost of reading a file lumi by lumi, by its order of events."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from forkrun.cli.arguments import add_options
from forkrun.config import validate
from forkrun.config.anchor import anchored
from forkrun.errors import ConfigError

if TYPE_CHECKING:
    from forkrun.studies.frame.study import Study

_OPTIONS = {
    "--tree NAME = Events": "tree of events (Events)",
    "--max-events N = 20000": "events that are copied at most (%(default)s)",
    "--children N = 32": "children that left the scattered copy (%(default)s)",
}
HELP = "compare files with lumis together and scattered, read lumi by lumi"
DESCRIPTION = (
    "Copy events with the lumis in one piece each, and scattered as children leave them that take"
    " one event in turn; print what is read of both, lumi by lumi, by a framework that keeps a"
    " basket of each branch, and by forkrun."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this study."""
    parser.add_argument("files", metavar="FILE", nargs="+", help="files of events")
    add_options(parser, _OPTIONS)


def study(options: argparse.Namespace, folder: Path) -> Study:
    """`forkrun measure order`."""
    from forkrun.index.files import input_files
    from forkrun.studies.order import measure_order

    if options.children < 1 or options.max_events < 1:
        raise ConfigError("measure order: --children and --max-events: from 1")
    files = [anchored(file, Path.cwd()) for file in options.files]
    source = validate({"source": {"files": files, "tree": options.tree}}, files[0]).source
    return measure_order(
        input_files(source), source.ids, folder, options.max_events, options.children,
        options.repeats, quiet=options.quiet,
    )  # fmt: skip
