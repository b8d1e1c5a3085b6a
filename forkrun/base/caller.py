"""Who runs a job: the command that a person has typed, and the name of the job's description.

A program in Python runs its job in a clean parent process, whose own arguments and temporary
configuration nobody knows; it hands over what they stand for."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
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
