"""Options that all studies have, and what becomes of their results."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forkrun.base.durable import output_errors, write_user_file
from forkrun.base.quantities import whole_number
from forkrun.cli.arguments import add_option
from forkrun.errors import NOT_CONCLUSIVE, ConfigError, OutputError

if TYPE_CHECKING:
    from forkrun.studies.frame.study import Study

_PICTURES = (".png", ".svg", ".pdf")
_MOST_REPEATS = 1000


def add_study_options(parser: argparse.ArgumentParser) -> None:
    """Adds --repeats, --json, --plot and --quiet."""
    words = "repeats of all ways (%(default)s)"
    add_option(parser, "--repeats N = 3", words, type=number_up_to(_MOST_REPEATS))
    add_option(parser, "--json OUT.json", "write the results as JSON")
    words = "draw the results: FILE.png, .svg or .pdf"
    add_option(parser, "--plot FILE", words, type=_picture)
    add_option(parser, "-q, --quiet", "do not show progress")


def run_study(
    study_of: Callable[[argparse.Namespace, Path], Study], options: argparse.Namespace
) -> int:
    """Measures, in a folder for the runs of jobs, once it is known that results can be kept."""
    check_destinations(options)
    with folder_for_runs(None) as folder:
        study = study_of(options, Path(folder))
    return finish_study(study, options)


def check_destinations(options: argparse.Namespace) -> None:
    """Raises OutputError before anything is measured that could not be kept."""
    for file in (options.json, options.plot):
        if file is not None and not file.absolute().parent.is_dir():
            raise OutputError(f"{file}: folder {file.parent} does not exist")


def finish_study(study: Study, options: argparse.Namespace) -> int:
    """Prints, writes and draws; returns the exit code: NOT_CONCLUSIVE of a busy machine."""
    from forkrun.studies.frame.study import print_study

    print_study(study)
    write_json(options.json, study.to_json())
    if options.plot is not None and study.plot is not None:
        from forkrun.studies.frame.plot import write_plot  # matplotlib

        write_plot(study.plot, options.plot, is_conclusive=study.is_conclusive)
        print(options.plot)
    return 0 if study.is_conclusive else NOT_CONCLUSIVE


def folder_for_runs(output: Path | None) -> Any:
    """Folder for the runs: kept if the user names it."""
    if output is None:
        return tempfile.TemporaryDirectory(prefix="forkrun-measure-")
    with output_errors(output):
        output.mkdir(parents=True, exist_ok=True)
    return nullcontext(output.absolute())


def write_json(file: Path | None, value: dict[str, Any]) -> None:
    """Writes the results if the user named a file."""
    if file is not None:
        write_user_file(file, json.dumps(value, indent=1) + "\n")


def number_up_to(most: int) -> Callable[[str], int]:
    """Type of an argument: a whole number from 1 to `most`."""

    def parse(text: str) -> int:
        number = whole_number(text)
        if not 1 <= number <= most:
            raise argparse.ArgumentTypeError(f"from 1 to {most:,}")
        return number

    return parse


def _picture(text: str) -> Path:
    if Path(text).suffix not in _PICTURES:
        raise ConfigError(f"--plot {text}: the name ends with {', '.join(_PICTURES)}")
    return Path(text)
