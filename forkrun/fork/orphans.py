"""Processes that modules started end with the child that started them, and none outlives the job.

Parent and children adopt what their descendants leave behind (PR_SET_CHILD_SUBREAPER). So what
a child has started, daemons included, comes to the parent when that child has ended, not before."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Collection
from pathlib import Path

from forkrun import _core

_PROC = Path("/proc/self/task")


def own_children(tasks: Path = _PROC) -> set[int]:
    """Processes whose parent is this one, also those that have ended and not been waited for."""
    found: set[int] = set()
    for task in tasks.iterdir():
        with contextlib.suppress(OSError):  # the thread has ended; or a kernel without this file
            found.update(map(int, (task / "children").read_text().split()))
    return found


class Orphans:
    """While open, this process adopts them. Children that it had before are left alone."""

    def __enter__(self) -> Orphans:
        self._before = own_children()
        _core.adopt_orphans(True)
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        _core.adopt_orphans(False)

    def end(self, but: Collection[int] = ()) -> None:
        """Kills those that are there, and what these leave, apart from the processes `but`."""
        while orphans := own_children() - self._before - {*but}:
            for pid in orphans:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for pid in orphans:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)
