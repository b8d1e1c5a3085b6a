"""`forkrun columns`: what the input of a job holds."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from forkrun.base.caller import file_of_job
from forkrun.cli.arguments import add_option, print_json
from forkrun.cli.options import naming
from forkrun.config.anchor import anchored, is_url
from forkrun.config.model import JobConfig
from forkrun.config.read import read_config, validate
from forkrun.errors import ConfigError
from forkrun.schedule.input_columns import columns_of_input

_CONFIGURATIONS = (".toml", ".json")

DESCRIPTION = (
    "List the columns of input files with type, collection or dataset, size and"
    " compression; and every branch that cannot be read as a column, with its class and why."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    words = (
        "file of events, or configuration (TOML, JSON) or script (.py) of a job; then"
        ' patterns of names: "Muon_*", or a part of a name'
    )
    parser.add_argument("inputs", metavar="FILE", nargs="+", help=words)
    add_option(parser, "--tree NAME", "tree of events (Events), or a pattern")
    add_option(parser, "--json", "print JSON")


def run(options: argparse.Namespace) -> int:
    """Prints a table."""
    first, *others = options.inputs
    files = [first, *(each for each in others if _is_file(each))]
    patterns = [each for each in others if not _is_file(each)]
    with naming(first):
        columns = columns_of_input(_config(files, options.tree)).matching(patterns)
    if options.json:
        print_json(columns.as_dicts())
    else:
        print(columns)
    return 0


def _is_file(text: str) -> bool:
    return is_url(text) or os.path.exists(text)


def _config(files: list[str], tree: str | None) -> JobConfig:
    """A job of these files, or the one of a configuration or script."""
    first = files[0]
    source: dict[str, Any] = {"tree": tree} if tree else {}
    if not first.endswith((*_CONFIGURATIONS, ".py")):
        source |= {"files": [anchored(file, Path.cwd()) for file in files]}
        return validate({"source": source}, file_of_job(first))
    if len(files) > 1:
        raise ConfigError(f"columns: one job, or files; {first} is a job")
    settings = [(f"source.{key}", value) for key, value in source.items()]
    if not first.endswith(".py"):
        return read_config(first, settings)
    from forkrun.analysis.script import job_of_script  # for few users

    raw = job_of_script(first)[0].config.as_json()
    return validate({**raw, "source": {**raw["source"], **source}}, first)
