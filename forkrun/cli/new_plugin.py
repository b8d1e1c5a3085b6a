"""`forkrun new-plugin`: a library of C++ modules to begin with, which builds and runs as it is."""

from __future__ import annotations

import argparse
from pathlib import Path

from forkrun.base.durable import output_errors, write_text
from forkrun.cli.arguments import add_json, print_json
from forkrun.errors import ConfigError, OutputError

_TEMPLATES = Path(__file__).parents[1] / "templates" / "plugin"
_NEXT = """Now:
  cmake -S {folder} -B {folder}/build -Dforkrun_DIR="$(forkrun --cmake-dir)"
  cmake --build {folder}/build
  forkrun run {folder}/job.toml FILE.root"""

DESCRIPTION = (
    "Write a folder with C++ modules to begin with: a producer of a collection, a"
    " filter and an analyzer with a histogram, how they are built, and a job that runs them on"
    " a NanoAOD-like file."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    words = "name of the library, and of its folder in this directory"
    parser.add_argument("name", metavar="NAME", help=words)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Writes the folder and says what comes next."""
    write_plugin(options.name, Path.cwd())
    if options.json:
        folder = Path.cwd() / options.name
        print_json({"folder": folder, "files": sorted(place.name for place in folder.iterdir())})
    else:
        print(_NEXT.format(folder=options.name))
    return 0


def write_plugin(name: str, place: Path) -> None:
    """Writes the folder NAME. Raises ConfigError for an invalid name, OutputError if the folder
    exists."""
    if not name.isidentifier() or not name.isascii():
        raise ConfigError(
            f'new-plugin: "{name}" is not a valid name: use letters, digits and underscores'
        )
    folder = place / name
    if folder.exists() or folder.is_symlink():
        raise OutputError(f"{folder} exists already; choose another name")
    with output_errors(folder):
        folder.mkdir()
        for template in sorted(_TEMPLATES.iterdir()):
            text = template.read_text(encoding="utf-8")
            write_text(folder / template.name.replace("NAME", name), text.replace("NAME", name))
