"""`forkrun measure memory`: how much memory forked children save."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from forkrun.base.quantities import whole_number
from forkrun.cli.options import add_config_options, config_of, naming
from forkrun.cli.studies.measure.finish import folder_for_runs, wide_console, write_json
from forkrun.config.auto_children import AUTO
from forkrun.errors import ConfigError

if TYPE_CHECKING:
    from forkrun.config import JobConfig
    from forkrun.studies.measure.sharing import Mix

HELP = "compare forked children with separate processes of the same job"
DESCRIPTION = (
    "Run the job with forked children, then as separate processes that each do the work of one"
    " child and load everything themselves. Print shared and private memory per process, the total,"
    " the saving, and the largest saving that is possible."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this study."""
    add_config_options(parser, needs_config=False)
    parser.add_argument(
        "--processes", type=whole_number, metavar="M", default=2,
        help="number of separate processes, which run at the same time (%(default)s)",
    )  # fmt: skip
    reference = parser.add_argument_group("the reference case, instead of CONFIG")
    reference.add_argument(
        "--reference", choices=("arrays", "objects"), help="use synthetic conditions, read in full"
    )
    for flag, default, words in (
        ("conditions", 700, "size of the conditions"),
        ("private", 375, "memory that each child takes for itself"),
    ):
        reference.add_argument(
            f"--{flag}-mb",
            type=whole_number,
            default=default,
            metavar="MB",
            help=f"{words} (%(default)s)",
        )
    add_output_options(parser)


def add_output_options(parser: argparse.ArgumentParser) -> None:
    """Adds where to leave runs, results and plots."""
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="keep the runs in DIR")
    parser.add_argument("--json", metavar="OUT.json", type=Path, help="write the results as JSON")
    parser.add_argument("--plots", metavar="DIR", type=Path, help="write plots as PNG and SVG")
    parser.add_argument("-q", "--quiet", action="store_true", help="do not show progress")


def measure(options: argparse.Namespace) -> int:
    """`forkrun measure memory`."""
    from forkrun.studies.measure.memory import measure_memory
    from forkrun.studies.measure.report import print_memory

    with folder_for_runs(options.output) as folder:
        config, reference = _job(options, Path(folder))
        say = (lambda _: None) if options.quiet else (lambda text: print(text, file=sys.stderr))
        with naming(options.config or "--reference"):
            measurement = measure_memory(config, Path(folder), options.processes, say, reference)
    print_memory(measurement, wide_console())
    write_json(options.json, measurement.to_json())
    if options.plots is not None:
        from forkrun.studies.measure.plots import plot_memory  # matplotlib

        print(*plot_memory(measurement, options.plots), sep="\n")
    return 0


def _job(options: argparse.Namespace, folder: Path) -> tuple[JobConfig, Mix | None]:
    """The user's job, or the reference case with its mix."""
    if (options.config is None) == (options.reference is None):
        raise ConfigError(
            "measure memory: give a CONFIG, --reference arrays, or --reference objects"
        )
    if options.reference is None:
        return config_of(options), None
    from forkrun.studies.measure.reference import Kind, ReferenceSettings, write_reference
    from forkrun.studies.measure.sharing import Mix

    n_children = 32 if options.children in (None, 0, AUTO) else options.children
    settings = ReferenceSettings(
        Kind(options.reference), options.conditions_mb, options.private_mb, n_children
    )
    mix = Mix(1e6 * settings.conditions_mb, 1e6 * settings.private_mb)
    return write_reference(folder, settings), mix
