"""`forkrun measure`: how well memory is shared."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forkrun.base.durable import output_errors, write_named
from forkrun.base.quantities import whole_number
from forkrun.cli.options import add_config_options, config_of, naming
from forkrun.config.auto_children import AUTO
from forkrun.errors import ConfigError
from forkrun.rundir.directory import RunDirectory

if TYPE_CHECKING:
    from rich.console import Console

    from forkrun.config import JobConfig
    from forkrun.studies.measure.sharing import Mix


_WIDTH = 140
_SERIAL = ("threads.executor=serial", "threads.per_child=1")

DESCRIPTION = "Run a job and measure how well its memory is shared."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    kinds = parser.add_subparsers(title="what to measure", required=True, metavar="WHAT")
    _add_memory(kinds)
    _add_unshared(kinds)


def run(options: argparse.Namespace) -> int:
    """Measures what the user named."""
    return int(options.measure(options))


def _add_memory(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = kinds.add_parser(
        "memory",
        help="compare forked children with separate processes of the same job",
        description="Run the job with forked children, then as separate processes that each do the"
        " work of one child and load everything themselves. Print shared and private memory per"
        " process, the total, the saving, and the largest saving that is possible.",
    )
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
    _add_output_options(parser)
    parser.set_defaults(measure=run_memory)


def _add_unshared(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = kinds.add_parser(
        "unshared",
        help="show which memory became private in children, and why",
        description="Analyse a run that had [monitoring] unshared = true, or run CONFIG with it,"
        " with"
        " one thread per child unless --threads is given.",
    )
    add_config_options(parser)
    parser.add_argument(
        "--rows", type=whole_number, default=25, metavar="N", help="rows of the table (25)"
    )
    _add_output_options(parser)
    parser.set_defaults(measure=run_unshared)


def _add_output_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="keep the runs in DIR")
    parser.add_argument("--json", metavar="OUT.json", type=Path, help="write the results as JSON")
    parser.add_argument("--plots", metavar="DIR", type=Path, help="write plots as PNG and SVG")
    parser.add_argument("-q", "--quiet", action="store_true", help="do not show progress")


def run_memory(options: argparse.Namespace) -> int:
    """`forkrun measure memory`."""
    from forkrun.studies.measure.memory import measure_memory
    from forkrun.studies.measure.report import print_memory

    with _folder(options.output) as folder:
        config, reference = _job(options, Path(folder))
        say = (lambda _: None) if options.quiet else (lambda text: print(text, file=sys.stderr))
        with naming(options.config or "--reference"):
            measurement = measure_memory(config, Path(folder), options.processes, say, reference)
    print_memory(measurement, _console())
    _write_json(options.json, measurement.to_json())
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


def run_unshared(options: argparse.Namespace) -> int:
    """`forkrun measure unshared`."""
    from forkrun.studies.measure.report import print_unshared
    from forkrun.studies.measure.unshared import read_unshared

    with _folder(options.output) as folder:
        run_dir = Path(options.config)
        if not run_dir.is_dir():
            run_dir = _run_watched(options, Path(folder))
        elif not RunDirectory(run_dir).is_run_directory():
            raise ConfigError(f"measure unshared: {run_dir} is not a run directory")
        unshared = read_unshared(run_dir)
    print_unshared(unshared, options.rows, _console())
    _write_json(options.json, unshared.to_json())
    if options.plots is not None:
        from forkrun.studies.measure.plots import plot_unshared  # matplotlib

        print(*plot_unshared(unshared, options.plots), sep="\n")
    return 0


def _run_watched(options: argparse.Namespace, folder: Path) -> Path:
    from forkrun.studies.measure.jobs import RunningJob, run_jobs

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


def _folder(output: Path | None) -> Any:
    """Folder for the runs: kept if the user names it."""
    if output is None:
        return tempfile.TemporaryDirectory(prefix="forkrun-measure-")
    with output_errors(output):
        output.mkdir(parents=True, exist_ok=True)
    return nullcontext(output.absolute())


def _console() -> Console:
    """A console that is wide enough for the tables, also in a file."""
    from rich.console import Console

    console = Console(highlight=False)
    return console if console.width >= _WIDTH else Console(highlight=False, width=_WIDTH)


def _write_json(file: Path | None, value: dict[str, Any]) -> None:
    if file is not None:
        write_named(file, json.dumps(value, indent=1) + "\n")
