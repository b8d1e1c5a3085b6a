"""`forkrun completion`: a script for completion in a shell."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from forkrun.errors import ConfigError

_SHELLS = ("bash", "zsh", "fish")
_FILES = {"CONFIG", "FILE", "INPUT", "LIBRARY", "OUTPUT"}
_FOLDERS = {"RUNDIR", "FOLDER", "DIR"}
"""Metavars of paths in the help of options and arguments."""
_EPILOG = """now: eval "$(forkrun completion bash)"
from now on: forkrun completion bash > ~/.local/share/bash-completion/completions/forkrun;
  forkrun completion zsh > a folder of $fpath/_forkrun;
  forkrun completion fish > ~/.config/fish/completions/forkrun.fish"""

DESCRIPTION = "Print a script for the completion of commands, options and files in a shell."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    parser.epilog = _EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("shell", choices=_SHELLS)


def run(options: argparse.Namespace) -> int:
    """Prints it."""
    print(completion(options.shell))
    return 0


def completion(shell: str) -> str:
    """The text for one of the shells. Raises ConfigError if shtab is not installed."""
    try:
        import shtab
    except ImportError:
        raise ConfigError(
            "completion: the Python package shtab is needed: pip install shtab"
        ) from None
    from forkrun.cli.parser import make_whole_parser

    parser = make_whole_parser()
    for action in _actions(parser):
        name = action.metavar if isinstance(action.metavar, str) else ""
        if name in _FOLDERS:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
        elif name in _FILES or action.type is Path:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    return str(shtab.complete(parser, shell))


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from _actions(each)
