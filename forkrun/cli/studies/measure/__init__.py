"""`forkrun measure`: the options and the end that kinds of studies have in common."""

from __future__ import annotations

import argparse
import json
import tempfile
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from forkrun.base.durable import output_errors, require_folder, write_user_file
from forkrun.cli.arguments import add_option, add_options, number_up_to
from forkrun.cli.studies.measure.kinds import KINDS, Kind
from forkrun.errors import NOT_CONCLUSIVE, ConfigError

if TYPE_CHECKING:
    from forkrun.studies.frame.study import Study

DESCRIPTION = "Measure a job, files or this machine: what published studies did, as commands."
_PICTURES = (".png", ".svg", ".pdf")
_MOST_REPEATS = 1000
_OF_MEMORY = {
    "-o, --output DIR": "keep the runs in DIR",
    "--json OUT.json": "write the results as JSON",
    "--plots DIR": "write plots as PNG and SVG",
    "-q, --quiet": "do not show progress",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    parsers = parser.add_subparsers(title="what to measure", required=True, metavar="WHAT")
    for name, kind in KINDS.items():
        parser = parsers.add_parser(name, help=kind.help, description=kind.description)
        kind.add(parser)
        if kind.of_memory:
            add_options(parser, _OF_MEMORY)
        else:
            _add_study_options(parser)
        parser.set_defaults(measure=partial(_measure, kind))


def _add_study_options(parser: argparse.ArgumentParser) -> None:
    words = "repeats of all ways (%(default)s)"
    add_option(parser, "--repeats N = 3", words, type=number_up_to(_MOST_REPEATS))
    add_option(parser, "--json OUT.json", "write the results as JSON")
    words = "draw the results: FILE.png, .svg or .pdf"
    add_option(parser, "--plot FILE", words, type=_picture)
    add_option(parser, "-q, --quiet", "do not show progress")


def run(options: argparse.Namespace) -> int:
    """Measures what the user named."""
    return int(options.measure(options))


def _measure(kind: Kind, options: argparse.Namespace) -> int:
    """Measures, in a folder for the runs of jobs, once it is known that results can be kept."""
    for file in (options.json, getattr(options, "plot", None)):
        if file is not None:
            require_folder(file)
    with _folder_for_runs(getattr(options, "output", None)) as folder:
        result = kind.measure(options, Path(folder))
    if not kind.of_memory:
        return finish_study(result, options)
    from forkrun.studies.measure.memory import print_measured

    print_measured(result, getattr(options, "rows", 0))
    _write_json(options.json, result.to_json())
    if options.plots is not None:
        from forkrun.studies.measure.plots import plot  # matplotlib

        print(*plot(result, options.plots), sep="\n")
    return 0


def finish_study(study: Study, options: argparse.Namespace) -> int:
    """Prints, writes and draws; returns the exit code: NOT_CONCLUSIVE of a busy machine."""
    from forkrun.studies.frame.study import print_study

    print_study(study)
    _write_json(options.json, study.to_json())
    if options.plot is not None and study.plot is not None:
        from forkrun.studies.frame.plot import write_plot  # matplotlib

        write_plot(study.plot, options.plot, is_conclusive=study.is_conclusive)
        print(options.plot)
    return 0 if study.is_conclusive else NOT_CONCLUSIVE


def _folder_for_runs(output: Path | None) -> AbstractContextManager[str | Path]:
    """Folder for the runs: kept if the user names it."""
    if output is None:
        return tempfile.TemporaryDirectory(prefix="forkrun-measure-")
    with output_errors(output):
        output.mkdir(parents=True, exist_ok=True)
    return nullcontext(output.absolute())


def _write_json(file: Path | None, value: dict[str, object]) -> None:
    """Writes the results if the user named a file."""
    if file is not None:
        write_user_file(file, json.dumps(value, indent=1) + "\n")


def _picture(text: str) -> Path:
    if Path(text).suffix not in _PICTURES:
        raise ConfigError(f"--plot {text}: the name ends with {', '.join(_PICTURES)}")
    return Path(text)
