"""What the parent says: on stderr and in its log."""

from __future__ import annotations

import sys
import time

from forkrun.rundir.directory import RunDirectory, output_errors


class Messages:
    """`quiet`: only in the log."""

    def __init__(self, folder: RunDirectory, quiet: bool) -> None:
        self._log = folder.parent_log
        self._quiet = quiet

    def say(self, text: str) -> None:
        """One message, of one or more lines."""
        if not self._quiet:
            print(text, file=sys.stderr)
        self.note(text)

    def note(self, text: str) -> None:
        """Only in the log."""
        with output_errors(self._log), self._log.open("a", encoding="utf-8") as log:
            log.write(time.strftime("%Y-%m-%dT%H:%M:%S ") + text + "\n")
