"""How a process ended, in words."""

from __future__ import annotations

import signal


def describe_status(exit_code: int) -> str:
    """Text for an exit code from `os.waitstatus_to_exitcode` or `subprocess`, negative for signals:
    `killed by signal 11 (SIGSEGV)`, `exit code 5`."""
    if exit_code >= 0:
        return f"exit code {exit_code}"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        name = "unknown"
    return f"killed by signal {-exit_code} ({name})"
