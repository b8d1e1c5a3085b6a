"""`forkrun measure memory`: how much memory forked children save."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from forkrun.base.quantities import whole_number
from forkrun.cli.arguments import add_option, add_options
from forkrun.cli.options import add_config_options, config_of, naming
from forkrun.cli.studies.measure.finish import folder_for_runs, write_json
from forkrun.config.auto_children import AUTO
from forkrun.errors import ConfigError

if TYPE_CHECKING:
    from forkrun.config import JobConfig
    from forkrun.studies.measure.memory import Mix

HELP = "compare forked children with separate processes of the same job"
DESCRIPTION = (
    "Run the job with forked children, then as separate processes that each do the work of one"
    " child and load everything themselves. Print shared and private memory per process, the total,"
    " the saving, and the largest saving that is possible."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this study."""
    add_config_options(parser, needs_config=False)
    words = "number of separate processes, which run at the same time (%(default)s)"
    add_option(parser, "--processes M = 2", words, type=whole_number)
    add_options(parser.add_argument_group("the reference case, instead of CONFIG"), _REFERENCE)
    add_options(parser, OUTPUT)


_REFERENCE = {
    "--reference {arrays,objects}": "use synthetic conditions, read in full",
    "--conditions-mb MB = 700": "size of the conditions (%(default)s)",
    "--private-mb MB = 375": "memory that each child takes for itself (%(default)s)",
}
OUTPUT = {
    "-o, --output DIR": "keep the runs in DIR",
    "--json OUT.json": "write the results as JSON",
    "--plots DIR": "write plots as PNG and SVG",
    "-q, --quiet": "do not show progress",
}
"""Where to leave runs, results and plots."""


def measure(options: argparse.Namespace) -> int:
    """`forkrun measure memory`."""
    from forkrun.studies.measure.memory import measure_memory
    from forkrun.studies.measure.report import print_memory

    with folder_for_runs(options.output) as folder:
        config, reference = _job(options, Path(folder))
        say = (lambda _: None) if options.quiet else (lambda text: print(text, file=sys.stderr))
        with naming(options.config or "--reference"):
            measurement = measure_memory(config, Path(folder), options.processes, say, reference)
    print_memory(measurement)
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
    from forkrun.studies.measure.memory import Mix
    from forkrun.studies.measure.reference import Kind, ReferenceSettings, write_reference

    n_children = 32 if options.children in (None, 0, AUTO) else options.children
    settings = ReferenceSettings(
        Kind(options.reference), options.conditions_mb, options.private_mb, n_children
    )
    mix = Mix(1e6 * settings.conditions_mb, 1e6 * settings.private_mb)
    return write_reference(folder, settings), mix
