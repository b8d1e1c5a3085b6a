"""The arguments of all commands."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import forkrun
from forkrun.errors import EXIT_CODES

GROUPS = {
    "daily work": {
        "run": "run a job, or resume one",
        "check": "check a job without running it",
        "columns": "list the columns of files, or of a job's input",
        "plot": "draw the histograms of a run",
        "merge": "merge a run, or any ROOT files",
        "report": "print a job's report",
    },
    "many nodes": {
        "submit": "run a job on many nodes",
        "status": "show the progress of a job on many nodes",
        "collect": "merge what the nodes of a job have processed",
        "resubmit": "resubmit the unfinished nodes of a job",
        "kill": "stop the nodes of a job",
        "logs": "print the logs of nodes",
        "node": "process one node's part of a job (run by batch jobs)",
    },
    "runs": {
        "resume": "resume a job that was interrupted",
        "plan": "show the units of work without running them",
        "top": "show a running job, live",
        "compare": "compare the reports of several runs",
        "export": "write what was measured in formats of other tools",
    },
    "files": {
        "convert": "write trees as RNTuples, or RNTuples as trees",
        "join": "write the columns of a friend into the file",
        "cache": "show, clear or fill the cache of remote files",
        "sample": "write a NanoAOD-like sample",
    },
    "studies": {
        "measure": "measure a job, files or this machine",
        "replay": "run measured modules that only take their time",
        "estimate": "estimate critical path, parallelism and speed-up of a job",
        "workload": "write a synthetic replay file",
    },
    "more": {
        "new-plugin": "write a template of a library of C++ modules",
        "completion": "print a script for completion in a shell",
        "manual": "print the man page",
    },
}
COMMANDS = {name: words for group in GROUPS.values() for name, words in group.items()}
_FOLDERS = {
    **dict.fromkeys(("cache", "columns", "join"), "files"),
    **dict.fromkeys(("report", "compare", "export", "plot", "top"), "reports"),
    **dict.fromkeys(("sample", "replay", "estimate", "workload", "measure"), "studies"),
}
"""Folders of commands that are not in this folder."""


def make_parser(command: str | None = None) -> argparse.ArgumentParser:
    """Parser of `forkrun COMMAND …`. Only this command is imported; without one, the parser lists
    all of them."""
    parser, subparsers = _parser_without_commands()
    if command is not None:
        _add(command, subparsers)
        return parser
    for name, summary in COMMANDS.items():
        subparsers.add_parser(name, help=summary)
    return parser


def make_whole_parser() -> argparse.ArgumentParser:
    """Parser with all commands and their options: for what describes them."""
    parser, subparsers = _parser_without_commands()
    for command in COMMANDS:
        _add(command, subparsers)
    return parser


def _add(name: str, subparsers: Any) -> None:
    """Adds a command with what its file says: DESCRIPTION, `add_arguments`, `run`."""
    place = ".".join([*filter(None, [_FOLDERS.get(name)]), name.replace("-", "_")])
    command = importlib.import_module(f"forkrun.cli.{place}")
    parser = subparsers.add_parser(name, help=COMMANDS[name], description=command.DESCRIPTION)
    command.add_arguments(parser)
    parser.set_defaults(run=command.run)


class _Grouped(argparse.HelpFormatter):
    """Lists commands under headings."""

    _HEADINGS: ClassVar[dict[str, str]] = {next(iter(g)): heading for heading, g in GROUPS.items()}

    def _format_action(self, action: argparse.Action) -> str:
        heading = self._HEADINGS.get(action.dest)
        text = super()._format_action(action)
        return f"  {heading}:\n{text}" if heading and not action.option_strings else text


class _Version(argparse.Action):
    """Prints version and build, whose digest is computed only when asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from forkrun.rundir.build import build_identity

        print(f"forkrun {build_identity()}")
        parser.exit()


def _parser_without_commands() -> tuple[argparse.ArgumentParser, Any]:
    parser = argparse.ArgumentParser(
        prog="forkrun",
        formatter_class=_Grouped,
        description="Process event data in forked children that share memory.",
        epilog=f"exit codes: {'; '.join(f'{n} {words}' for n, words in EXIT_CODES.items())}",
    )
    parser.add_argument(
        "--cmake-dir",
        action="version",
        version=str(Path(forkrun.__file__).parent / "lib/cmake/forkrun"),
        help="print the folder in which CMake's find_package(forkrun) looks, and exit",
    )
    parser.add_argument(
        "--version", action=_Version, nargs=0, help="print the version and build, and exit"
    )
    subparsers = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    return parser, subparsers


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """Parses arguments, also where options stand between files (`run CONFIG -o RUNDIR FILE`), which
    argparse cannot do: what it leaves over is then one more file."""
    command = next((word for word in arguments[:1] if word in COMMANDS), None)
    parser = make_parser(command)
    options, left = parser.parse_known_args(arguments)
    files = getattr(options, "files", getattr(options, "inputs", None))
    if left and (files is None or any(text.startswith("-") for text in left)):
        parser.error(f"unrecognized arguments: {' '.join(left)}")
    if left and files is not None:
        files += left
    return options
