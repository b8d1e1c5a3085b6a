"""`forkrun manual`: the man page of all commands and keys, from parser and models."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import forkrun
from forkrun.errors import EXIT_CODES

DESCRIPTION = (
    "Print the man page of all commands and keys: forkrun manual | man -l -, or once"
    " forkrun manual > ~/.local/share/man/man1/forkrun.1"
)


def add_arguments(_parser: argparse.ArgumentParser) -> None:
    """Adds nothing: the command has no arguments."""


def run(_options: argparse.Namespace) -> int:
    """Prints it."""
    print(man_page(), end="")
    return 0


def man_page() -> str:
    """The page in troff's man macros."""
    from forkrun.cli.parser import COMMANDS, make_whole_parser

    parser = make_whole_parser()
    commands = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    lines = [
        f'.TH FORKRUN 1 "" "forkrun {forkrun.__version__}" "User commands"',
        *(".SH NAME", r"forkrun \- process event data in forked children that share memory"),
        *(".SH SYNOPSIS", r".B forkrun", r"\fICOMMAND\fR \fR[\fIOPTIONS\fR]"),
        *(".SH DESCRIPTION", _text(parser.description)),
        *(".SH OPTIONS", *_options(parser)),
        ".SH COMMANDS",
    ]
    for name, each in commands.choices.items():
        lines += [f".SS forkrun {_text(name)}", _text(each.description or COMMANDS[name])]
        lines += _options(each)
    lines += [".SH CONFIGURATION", ".ad l", *_keys(), ".ad", ".SH EXIT STATUS"]
    for number, meaning in EXIT_CODES.items():
        lines += [".TP", rf"\fB{_text(number)}\fR", _text(meaning)]
    return "\n".join(lines) + "\n"


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        if action.help == argparse.SUPPRESS or isinstance(action, argparse._SubParsersAction):
            continue
        if isinstance(action, argparse._HelpAction):
            continue
        said = (action.help or "") % {**vars(action), "prog": parser.prog}
        yield from (".TP", _heading(action), _text(said) if said else ".br")


def _heading(action: argparse.Action) -> str:
    """`-o, --output RUNDIR`."""
    value = "" if action.nargs == 0 else rf" \fI{_text(value_of(action))}\fR"
    if not action.option_strings:
        return value.strip()
    names = ", ".join(rf"\fB{_text(name)}\fR" for name in action.option_strings)
    return names + value


def value_of(action: argparse.Action) -> str:
    """Name or choices of the value of an option or argument."""
    if isinstance(action.metavar, str):
        return action.metavar
    if action.choices is not None:
        return "{" + ",".join(map(str, action.choices)) + "}"
    return action.dest.upper()


def _keys() -> Iterator[str]:
    """Keys of a job's configuration, section by section."""
    from forkrun.config.described import sections

    for section in sections():
        yield from (f".SS {_text(section.name)}", _text(section.text) or ".br")
        for key in section.keys:
            default = f", {key.default}" if key.default else ""
            about = _text(f"({key.type}{default})".replace("`", ""))
            text = _text(key.text.replace("`", ""))
            yield from (".TP", rf"\fB{_text(key.name)}\fR {about}", text)


def _text(text: str | None) -> str:
    """Without what troff takes for a command."""
    flat = " ".join((text or "").split()).replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{flat}" if flat[:1] in (".", "'") else flat
