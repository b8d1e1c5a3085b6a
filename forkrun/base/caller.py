"""The caller of a job: the typed command, and the name of the job's description. A Python program
runs its job in a clean parent process, whose arguments and temporary configuration mean nothing to
users; the program passes the typed ones."""

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


def caller_environment(file: str) -> Mapping[str, str]:
    """Environment of the clean parent process. `file`: the job's description: a configuration, or
    the program itself."""
    return {_VARIABLE: json.dumps({"command": command_of_user(), "file": file})}


def command_of_user() -> list[str]:
    """The typed words."""
    handed = _passed_caller()
    return list(handed["command"]) if handed else typed(sys.argv)


def file_of_job(own: str) -> str:
    """The name of the job's description in messages. `own`: the name in this process."""
    handed = _passed_caller()
    return str(handed["file"]) if handed else own


@contextlib.contextmanager
def describing_job_by(file: str) -> Iterator[None]:
    """Names the job's description, `file`, while a program runs its job in this process."""
    before, os.environ[_VARIABLE] = os.environ.get(_VARIABLE), caller_environment(file)[_VARIABLE]
    try:
        yield
    finally:
        del os.environ[_VARIABLE]
        if before is not None:
            os.environ[_VARIABLE] = before


def is_built_in_python() -> bool:
    """Whether a Python program or notebook has built the job: commands cannot take it from a
    file."""
    file = file_of_job("")
    return file == NOTEBOOK or file.endswith(".py")


def option(flag: str) -> str:
    """An option of `forkrun run` in the caller's form: -o or --force; a keyword where a Python
    program runs the job itself."""
    handed = _passed_caller()
    is_command = not handed or handed["command"][0] == "forkrun"
    return flag if is_command else {"-o": "output=…", "--force": "force=True"}[flag]


def typed(argv: Sequence[str]) -> list[str]:
    """The typed command. The first argument is a `__main__.py` with `python -m forkrun`, the
    program in a Python program, and the kernel in a notebook."""
    program = Path(argv[0])
    if program.name == "__main__.py":
        return [program.parent.name, *argv[1:]]
    if program.name == "ipykernel_launcher.py":
        return [NOTEBOOK]
    if program.suffix == ".py":
        return ["python", *argv]
    return [program.name or "python", *argv[1:]]


def _passed_caller() -> dict[str, Any] | None:
    text = os.environ.get(_VARIABLE)
    return json.loads(text) if text else None
