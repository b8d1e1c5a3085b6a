"""Messages of the parent, on stderr and in its log; output of modules, in logs of children."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from forkrun.base.durable import open_to_append, output_errors
from forkrun.base.streams import tell
from forkrun.rundir.directory import RunDirectory

_MOST_BYTES = 1 << 20
"""Bytes of a log shown at a time; the rest follows later."""


class Messages:
    """`quiet`: writes only to the log."""

    def __init__(self, folder: RunDirectory, quiet: bool) -> None:
        self._log = folder.parent_log
        self.quiet = quiet

    def say(self, text: str) -> None:
        """Prints one message, of one or more lines."""
        if not self.quiet:
            tell(text)
        self.note(text)

    def note(self, text: str) -> None:
        """Writes a message to the log only."""
        with output_errors(self._log), os.fdopen(open_to_append(self._log), "ab") as log:
            line = f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {text}\n"
            log.write(line.encode(errors="backslashreplace"))


class ChildLogs:
    """Logs of one parent's children. `shows`: prints each line on the terminal, with its child."""

    def __init__(self, folder: RunDirectory, parent_pid: int, shows: bool) -> None:
        self._folder, self._pid, self._shows = folder, parent_pid, shows
        self._shown: dict[Path, int] = {}

    def tick(self) -> None:
        """Shows new complete lines."""
        if not self._shows:
            return
        for log in self._files():
            with log.open("rb") as file:
                file.seek(self._shown.get(log, 0))
                text = file.read(_MOST_BYTES)
            whole = text[: text.rfind(b"\n") + 1] or (text if len(text) == _MOST_BYTES else b"")
            self._shown[log] = self._shown.get(log, 0) + len(whole)
            child = int(log.stem.rpartition("-")[2])
            for line in whole.decode(errors="replace").splitlines():
                print(f"child {child}: {line}", file=sys.stderr)

    def warning(self) -> str | None:
        """Message that names the logs with output that was not shown; None if there is none."""
        logs = [log for log in self._files() if log.stat().st_size]
        if not logs or self._shows:
            return None
        others = f" and {len(logs) - 1} more there" if len(logs) > 1 else ""
        return (
            f"modules or libraries printed something: it is in {logs[0]}{others}; --logs shows it"
            " on the terminal"
        )

    def _files(self) -> list[Path]:
        return sorted(self._folder.logs.glob(f"{self._pid}-child-*.log"))
