"""`forkrun plot`: histograms of a run as plots."""

from __future__ import annotations

import argparse
import fnmatch
from collections.abc import Sequence
from pathlib import Path

from forkrun.base.nearest import suggestion
from forkrun.base.quantities import plural
from forkrun.cli.arguments import add_option, add_options
from forkrun.errors import ConfigError
from forkrun.histograms.final.templates import axes_of
from forkrun.parent.result import Result

DESCRIPTION = (
    "Draw histograms of a run: simulation stacked by dataset, its uncertainty with all variations"
    " as a band, data as points, and their ratio below. Needs mplhep: pip install 'forkrun[plot]'."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    parser.add_argument("run_dir", type=Path, metavar="RUNDIR", help="run directory of a job")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help='histograms, "jet_*"; all of one or two axes'
    )
    options = {
        "-o, --output DIR": "folder to write to; RUNDIR/plots if not given",
        "--format {png,pdf,svg} = png": "format of the files",
        "--style {cms,atlas,lhcb,alice,root} = cms": "style of the plots",
        "--text TEXT": "text after the name of the experiment, such as Preliminary",
        "--log": "logarithmic scale",
        "--overflow": "add what lies beyond an axis to its first and last bins",
    }
    add_options(parser, options)
    stack = argparse.BooleanOptionalAction
    add_option(parser, "--stack", "stack simulation of several datasets", action=stack)
    add_option(parser, "--ratio", "show the ratio of data and simulation", action=stack)


def run(options: argparse.Namespace) -> int:
    """Writes a file for each histogram, and prints its name."""
    result = Result.read(options.run_dir)
    folder = options.output or options.run_dir / "plots"
    look = {key: getattr(options, key) for key in ("stack", "ratio", "log", "overflow", "style")}
    for name in _chosen(list(result.histograms), options.names):
        n_axes = len(axes_of(result.histograms[name]))
        if not options.names and n_axes not in (1, 2):
            print(f"{name}: left out, it has {plural(n_axes, 'axis')}")
            continue
        figure = result.plot(name, text=options.text or "", **look)
        file = folder / f"{name}.{options.format}"
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file, bbox_inches="tight")
        print(file)
    return 0


def _chosen(known: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Names in the order of the file. Raises ConfigError for a pattern that fits none."""
    if not known:
        raise ConfigError("the run has no histograms")
    for pattern in patterns:
        if not fnmatch.filter(known, pattern):
            raise ConfigError(f'no histogram "{pattern}"{suggestion(pattern, list(known))}')
    kept = {name for each in patterns or ["*"] for name in fnmatch.filter(known, each)}
    return [name for name in known if name in kept]
