"""Who runs a job: the command that a person has typed, and the name of the job's description.

A program in Python runs its job in a clean parent process, whose own arguments and temporary
configuration nobody knows; it hands over what they stand for."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

_VARIABLE = "FORKRUN_CALLER"
NOTEBOOK = "notebook"


def handed_over(file: str) -> Mapping[str, str]:
    """Environment of the clean parent process. `file`: what describes the job: a configuration,
    or the program itself."""
    return {_VARIABLE: json.dumps({"command": command_of_user(), "file": file})}


def command_of_user() -> list[str]:
    """The words that were typed."""
    handed = _handed()
    return list(handed["command"]) if handed else typed(sys.argv)


def file_of_job(own: str) -> str:
    """The name of the job's description in messages. `own`: that of this process."""
    handed = _handed()
    return str(handed["file"]) if handed else own


@contextlib.contextmanager
def describing(file: str) -> Iterator[None]:
    """While a program runs its job in this process. `file`: what describes the job."""
    before, os.environ[_VARIABLE] = os.environ.get(_VARIABLE), handed_over(file)[_VARIABLE]
    try:
        yield
    finally:
        del os.environ[_VARIABLE]
        if before is not None:
            os.environ[_VARIABLE] = before


def is_built_in_python() -> bool:
    """Whether a program in Python, or a notebook, has built the job: there is no file of it that a
    command could take."""
    file = file_of_job("")
    return file == NOTEBOOK or file.endswith(".py")


def option(flag: str) -> str:
    """An option of `forkrun run` as the caller writes it: -o or --force; a keyword where a program
    in Python runs the job itself."""
    handed = _handed()
    is_command = not handed or handed["command"][0] == "forkrun"
    return flag if is_command else {"-o": "output=…", "--force": "force=True"}[flag]


def typed(argv: Sequence[str]) -> list[str]:
    """`python -m forkrun` gives the path of a __main__.py, a program in Python that of itself, a
    notebook its kernel's."""
    program = Path(argv[0])
    if program.name == "__main__.py":
        return [program.parent.name, *argv[1:]]
    if program.name == "ipykernel_launcher.py":
        return [NOTEBOOK]
    if program.suffix == ".py":
        return ["python", *argv]
    return [program.name or "python", *argv[1:]]


def _handed() -> dict[str, Any] | None:
    text = os.environ.get(_VARIABLE)
    return json.loads(text) if text else None
