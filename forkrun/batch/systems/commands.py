"""Calls the commands of a batch system."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from forkrun.errors import BatchError

ASK_S, SUBMIT_S = 20.0, 120.0
"""Time-outs of queries and of changes."""


def call(system: str, command: Sequence[str], limit_s: float) -> str:
    """Output of a command. Raises BatchError, which begins with the batch system's name."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s)
    except FileNotFoundError:
        what = f"{command[0]} is not installed here: submit from a machine that has its commands"
        raise BatchError(f"{system}: {what}, or use --on local") from None
    except subprocess.TimeoutExpired:
        what = f"{command[0]} did not answer within {limit_s:.0f} s"
        raise BatchError(f"{system}: {what}") from None
    except OSError as error:
        what = f"{command[0]} cannot be started: {error.strerror}"
        raise BatchError(f"{system}: {what}") from None
    if done.returncode:
        said = done.stderr.strip() or f"exit code {done.returncode}"
        raise BatchError(f"{system}: {command[0]}: {said}")
    return done.stdout
