"""`forkrun measure scaling`: how a job's rate grows with children and threads."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from forkrun.base.cpus import usable_cpus
from forkrun.cli.arguments import add_option
from forkrun.cli.options import add_config_options, config_of, naming

if TYPE_CHECKING:
    from forkrun.studies.frame.study import Study

HELP = "measure a job's rate against children, threads, and work of each event"
DESCRIPTION = (
    "Run the job with several numbers of children and threads; print events per second, in all and"
    " per core, relative to one core, and what they stop at: CPUs, memory bandwidth, disk, modules"
    " that wait, or the last child."
)
_MOST_CORES = 4096


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this study."""
    add_config_options(parser, has_cores=False)
    parser.set_defaults(children=None, threads=None)  # of the configuration: each run has its own
    for flag, what in (("children", "children"), ("threads", "threads per child")):
        words = f"numbers of {what}: 1 2 6, or 1..8 for 1 2 4 8 (as many as there are CPUs)"
        add_option(parser, f"--{flag} N", words, dest=f"of_{flag}", type=_numbers, nargs="+")
    words = "milliseconds of CPU time that each event takes more (0)"
    add_option(parser, "--work MS", words, type=_time_ms, nargs="+", default=[0.0])
    words = "length of each event loop, if the input has as many events (%(default)s)"
    add_option(parser, "--seconds S = 3.0", words, type=_seconds)


def study(options: argparse.Namespace, folder: Path) -> Study:
    """`forkrun measure scaling`."""
    from forkrun.studies.scaling import Runs, measure_scaling, points

    options.distribution = options.distribution or "guided"  # the first events may be one lumi
    config = config_of(options)
    children, threads = _together(options.of_children), _together(options.of_threads)
    wanted = points(children, threads, options.work, usable_cpus())
    with naming(options.config):
        runs = Runs(config, folder, options.seconds)
        return measure_scaling(config.job.name, wanted, runs, options.repeats, quiet=options.quiet)


def _together(lists: list[list[int]] | None) -> list[int] | None:
    return None if lists is None else list(dict.fromkeys(n for each in lists for n in each))


def _numbers(text: str) -> list[int]:
    """`4`, or `1..8`: the first, twice as many, …, the last."""
    from forkrun.studies.frame.repeats import doubling

    found = re.fullmatch(r"(\d+)(?:\.\.(\d+))?", text)
    if found is None or not 1 <= int(found[1]) <= int(found[2] or found[1]) <= _MOST_CORES:
        raise argparse.ArgumentTypeError(f"a number from 1 to {_MOST_CORES}, or 1..8; not {text}")
    return doubling(int(found[1]), int(found[2] or found[1]))


def _time_ms(text: str) -> float:
    return _number(text, 0.0, 1e6)


def _seconds(text: str) -> float:
    return _number(text, 0.01, 1e5)


def _number(text: str, least: float, most: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not least <= value <= most:
        raise argparse.ArgumentTypeError(f"a number from {least:g} to {most:g}, not {text}")
    return value
