"""A program in Python in the place of a configuration: `forkrun submit analysis.py`. It is run up
to its first `job.run()`, and the process becomes that of the command with this job."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import NoReturn

from forkrun.base.caller import describing
from forkrun.base.received import CONFIG

_OPTIONS = ("output", "on", "nodes", "events_per_node", "time_per_node", "profile")
"""Arguments of calls that are options of commands, where the command line does not have them."""


def split_at_dashes(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Arguments of the command, and behind `--` those of the program in Python that it takes."""
    words = list(arguments)
    end = words.index("--") if "--" in words else len(words)
    has_program = any(word.endswith(".py") for word in words[:end])
    return (words[:end], words[end + 1 :]) if has_program else (words, [])


def is_program(options: argparse.Namespace) -> bool:
    """Whether CONFIG is a program in Python that has not been run yet."""
    file = getattr(options, "config", None)
    return isinstance(file, str) and file.endswith(".py") and CONFIG not in os.environ


def become_command(
    options: argparse.Namespace, arguments: Sequence[str], of_program: Sequence[str]
) -> NoReturn:
    """Runs the program, and then the command with its job in the place of this process. Raises
    ConfigError if there is no such job, or the program fails."""
    from forkrun.analysis.script import job_of_script  # imports NumPy
    from forkrun.api import become

    with describing(options.config):
        job, call = job_of_script(options.config, of_program, options.job)
        asked = {name: call[name] for name in _OPTIONS if name in call and _is_open(options, name)}
        more = [f"--{name.replace('_', '-')}={value}" for name, value in asked.items()]
        become(job, [*arguments, *more], call.get("children"), call.get("threads"))


def _is_open(options: argparse.Namespace, name: str) -> bool:
    """Whether the command has this option, and it was not given."""
    how_many = ("nodes", "events_per_node", "time_per_node")
    if name in how_many and any(getattr(options, key, False) for key in ("extend", "new_code")):
        return False  # the call says it of all nodes
    names = how_many if name in how_many else (name,)
    return hasattr(options, name) and not any(getattr(options, each) for each in names)
