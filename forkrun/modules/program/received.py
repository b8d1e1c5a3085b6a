"""What this process has of the program in Python whose job it runs, as bytes until it is needed.

A clean parent process is given it through anonymous files, which nobody else can open; a node of a
job on many nodes reads what the process that submitted it has kept in the run directory."""

from __future__ import annotations

import os
from collections.abc import Mapping

STATE, GIVEN, CONFIG = "FORKRUN_PROGRAM", "FORKRUN_GIVEN", "FORKRUN_CONFIG"
"""State of the program, the functions that it gives, and the job's configuration; of each,
the environment variable with the descriptor of its anonymous file."""

_contents: dict[str, bytes] = {}


def received(name: str) -> bytes:
    """One of them; b"" if there is none."""
    if descriptor := os.environ.pop(name, ""):
        with os.fdopen(int(descriptor), "rb") as file:
            file.seek(0)
            _contents[name] = file.read()
    return _contents.get(name, b"")


def have(contents: Mapping[str, bytes]) -> None:
    """Has these from now on."""
    _contents.update(contents)
