"""A program in Python in the place of a configuration: `forkrun submit analysis.py`. A copy of the
process runs it up to its first `job.run()`, and the command takes this job over."""

from __future__ import annotations

import argparse
import contextlib
import os
import pickle
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from forkrun.base.caller import describing_job_by
from forkrun.base.received import CONFIG, anonymous_files, keep_contents

_OPTIONS = ("output", "on", "nodes", "events_per_node", "time_per_node", "profile")
"""Arguments of calls that are options of commands, where the command line does not have them."""
_READ_AT_START = ("LD_", "MALLOC_", "PYTHON")
"""Begin names of variables that count when a process starts: one is started where a program sets
them."""


def split_at_dashes(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Arguments of the command, and after `--` those of the program in Python."""
    words = list(arguments)
    end = words.index("--") if "--" in words else len(words)
    has_program = any(word.endswith(".py") for word in words[:end])
    return (words[:end], words[end + 1 :]) if has_program else (words, [])


def is_program(options: argparse.Namespace) -> bool:
    """Whether CONFIG is a program in Python that has not been run yet."""
    file = getattr(options, "config", None)
    return isinstance(file, str) and file.endswith(".py") and CONFIG not in os.environ


def take_job(
    options: argparse.Namespace, arguments: Sequence[str], of_program: Sequence[str]
) -> list[str]:
    """Has a copy of this process run the program, and takes its job over: this process has imported
    what the command needs, and nothing of the program's. Gives the arguments of the command. In the
    copy, raises what is wrong with the program."""
    from forkrun.fork.forking import fork_copy, wait_for_copy  # for programs alone

    with open(os.memfd_create("job"), "w+b") as taken:
        _prepare(options.config)
        if copy := fork_copy():
            code = wait_for_copy(copy)
            if not os.fstat(taken.fileno()).st_size:
                raise SystemExit(code)
            taken.seek(0)
            return _take_over(*pickle.load(taken))
        pickle.dump(_job_of(options, arguments, of_program), taken)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(0)


def _prepare(file: str) -> None:
    """Does once what both processes need: imports Awkward, if the program has its name."""
    from forkrun.base.awkward_array import load_awkward
    from forkrun.base.importing import collector_paused

    with contextlib.suppress(OSError), collector_paused():
        if b"awkward" in Path(file).read_bytes():
            load_awkward()


def _job_of(
    options: argparse.Namespace, arguments: Sequence[str], of_program: Sequence[str]
) -> tuple[Any, ...]:
    from forkrun.analysis.script import job_of_script  # for programs alone
    from forkrun.api import handed

    with describing_job_by(options.config):
        job, call = job_of_script(options.config, of_program, options.job)
        asked = {name: call[name] for name in _OPTIONS if name in call and _is_open(options, name)}
        more = [f"--{name.replace('_', '-')}={value}" for name, value in asked.items()]
        contents, environment = handed(job, call.get("children"), call.get("threads"))
    return [*arguments, *more], contents, environment, os.getcwd()


def _take_over(
    words: list[str], contents: dict[str, bytes], environment: dict[str, str], folder: str
) -> list[str]:
    """Takes the job over; in a new process if the program has set what is read at its start."""
    from forkrun.modules.program.state import receive_state

    changed = {name for name, _ in environment.items() ^ os.environ.items()} - {"PYTHONPATH"}
    os.chdir(folder)
    if any(name.startswith(_READ_AT_START) for name in changed):
        with anonymous_files(contents) as files:
            for descriptor in files.values():
                os.set_inheritable(descriptor, True)
            environment |= {name: str(descriptor) for name, descriptor in files.items()}
            os.execve(sys.executable, [sys.executable, "-P", "-m", "forkrun", *words], environment)
    os.environ.clear()
    os.environ.update(environment)
    keep_contents(contents)
    receive_state()
    return words


def _is_open(options: argparse.Namespace, name: str) -> bool:
    """Whether the command has this option, and it was not given."""
    how_many = ("nodes", "events_per_node", "time_per_node")
    if name in how_many and any(getattr(options, key, False) for key in ("extend", "new_code")):
        return False  # the call says it of all nodes
    names = how_many if name in how_many else (name,)
    return hasattr(options, name) and not any(getattr(options, each) for each in names)
