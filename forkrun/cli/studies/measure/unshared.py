"""`forkrun measure unshared`: which memory became private in children, and why."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from forkrun.cli.arguments import add_option, add_options
from forkrun.cli.options import add_config_options, config_of, naming
from forkrun.cli.studies.measure.finish import folder_for_runs, write_json
from forkrun.cli.studies.measure.memory import OUTPUT
from forkrun.errors import ConfigError
from forkrun.rundir.directory import RunDirectory

_SERIAL = ("threads.executor=serial", "threads.per_child=1")

HELP = "show which memory became private in children, and why"
DESCRIPTION = (
    "Analyse a run that had [monitoring] unshared = true, or run CONFIG with it, with one thread"
    " per child unless --threads is given."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this study."""
    add_config_options(parser)
    add_option(parser, "--rows N = 25", "rows of the table (25)")
    add_options(parser, OUTPUT)


def measure(options: argparse.Namespace) -> int:
    """`forkrun measure unshared`."""
    from forkrun.studies.measure.report import print_unshared
    from forkrun.studies.measure.unshared import read_unshared

    with folder_for_runs(options.output) as folder:
        run_dir = Path(options.config)
        if not run_dir.is_dir():
            run_dir = _run_watched(options, Path(folder))
        elif not RunDirectory(run_dir).is_run_directory():
            raise ConfigError(f"measure unshared: {run_dir} is not a run directory")
        unshared = read_unshared(run_dir)
    print_unshared(unshared, options.rows)
    write_json(options.json, unshared.to_json())
    if options.plots is not None:
        from forkrun.studies.measure.plots import plot_unshared  # matplotlib

        print(*plot_unshared(unshared, options.plots), sep="\n")
    return 0


def _run_watched(options: argparse.Namespace, folder: Path) -> Path:
    from forkrun.studies.frame.jobs import RunningJob, run_jobs

    config = config_of(options)
    if config.forking.children < 1:
        raise ConfigError("measure unshared: at least one child is needed")
    settings = ["monitoring.unshared=true", *(_SERIAL if options.threads is None else ())]
    job = RunningJob(config, folder / "unshared", settings)
    if not options.quiet:
        print(f"{config.forking.children} children, watched …", file=sys.stderr)
    with naming(options.config):
        run_jobs([job], "the job")
    return job.folder
