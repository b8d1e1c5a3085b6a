"""Messages of the parent, on stderr and in its log."""

from __future__ import annotations

import os
import time

from forkrun.base.durable import open_to_append, output_errors
from forkrun.base.streams import tell
from forkrun.rundir.directory import RunDirectory


class Messages:
    """`quiet`: only in the log."""

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
