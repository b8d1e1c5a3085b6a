"""Options of commands, written as manuals have them, `-o, --output RUNDIR`; and results as JSON."""

from __future__ import annotations

import json
from argparse import ArgumentTypeError, BooleanOptionalAction
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from forkrun.base.quantities import whole_number
from forkrun.base.user_text import short
from forkrun.errors import ConfigError

_TYPES: Mapping[str, Any] = {
    **dict.fromkeys(("N", "MB"), whole_number),
    **dict.fromkeys(("RUNDIR", "DIR", "FILE", "OUT.json"), Path),
    **dict.fromkeys(("SECONDS", "SPREAD", "FACTOR"), float),
}
"""Types of values by their metavar; others are texts."""


def add_option(parser: Any, written: str, words: str, **more: Any) -> None:
    """`written`: names, then the word for the value or `{one,of,these}`, then ` = DEFAULT`; a flag
    has names alone. `words`: its help; `more`: as argparse takes it."""
    *names, last = written.split(", ")
    last, _, default = last.partition(" = ")
    name, _, value = last.partition(" ")
    if value.startswith("{"):
        more["choices"] = tuple(value.strip("{}").split(","))
    elif value:
        more = {"metavar": value, "type": _TYPES.get(value), **more}
    elif "action" not in more:
        more["action"] = "store_true"
    if default:
        more["default"] = (more.get("type") or str)(default)
    parser.add_argument(*names, name, help=words, **more)


def add_options(parser: Any, options: Mapping[str, str]) -> None:
    """Adds several, each as `add_option`: what is written, and its help."""
    for written, words in options.items():
        add_option(parser, written, words)


def add_run_directory(parser: Any) -> None:
    """Adds RUNDIR, of commands for the run of a job."""
    parser.add_argument("run_directory", metavar="RUNDIR", type=Path)


def add_plots(parser: Any, words: str) -> None:
    """Adds --plots and --no-plots."""
    add_option(parser, "--plots", words, action=BooleanOptionalAction, default=False)


def add_json(parser: Any) -> None:
    """Adds --json, of commands that print results."""
    add_option(parser, "--json", "print the results as JSON")


def add_quiet(parser: Any, words: str = "print errors only") -> None:
    """Adds -q and --json, of which one is given at most."""
    said = parser.add_mutually_exclusive_group()
    add_option(said, "-q, --quiet", words)
    add_json(said)


def print_json(value: Any) -> None:
    """Prints results as --json has them; paths as texts."""
    print(json.dumps(value, indent=1, default=str))


def numbers(option: str, text: str, like: str, most: int) -> list[int]:
    """The values of an option that has several, from 1 to `most`. Raises ConfigError."""
    words = [word.strip() for word in text.split(",")]
    values = [int(word) for word in words if word.isdecimal() and len(word) <= 9]
    if len(values) < len(words) or not 1 <= min(values) <= max(values) <= most:
        what = f"write numbers like {like}, from 1 to {most:,}"
        raise ConfigError(f"{option} {short(text)}: {what}")
    return values


def quantity(option: str, text: str | None, parse: Callable[[object], object]) -> float | None:
    """The value of an option with a unit, None if it was not given. Raises ConfigError."""
    try:
        return None if text is None else float(str(parse(text)))
    except ValueError as error:
        raise ConfigError(f"{option} {text}: {error}") from None


def number_up_to(most: int) -> Callable[[str], int]:
    """Type of an argument: a whole number from 1 to `most`."""

    def parse(text: str) -> int:
        number = whole_number(text)
        if not 1 <= number <= most:
            raise ArgumentTypeError(f"from 1 to {most:,}")
        return number

    return parse


def number_within(least: float, most: float) -> Callable[[str], float]:
    """Type of an argument: a number from `least` to `most`."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not least <= value <= most:
            raise ArgumentTypeError(f"a number from {least:g} to {most:g}, not {text}")
        return value

    return parse
