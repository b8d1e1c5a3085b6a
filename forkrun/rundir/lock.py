"""One parent at a time works in a run directory, on whatever node."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from forkrun.errors import OutputError
from forkrun.rundir.directory import output_errors, read_json

_STALE_S = 120.0
_TOUCH_EVERY_S = 20.0


class RunLock:
    """A file beside the run's records, touched while its parent lives. No lock of the file system:
    those of network file systems cannot be trusted."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._touched_s = time.monotonic()

    @classmethod
    @contextlib.contextmanager
    def held(cls, path: Path) -> Iterator[RunLock]:
        """While the body runs. Raises OutputError if another parent is at work."""
        lock = cls(path)
        lock._acquire()
        try:
            yield lock
        finally:
            with contextlib.suppress(OSError):
                path.unlink()

    def keep(self) -> None:
        """To be called now and then: the parent lives."""
        now_s = time.monotonic()
        if now_s - self._touched_s > _TOUCH_EVERY_S:
            self._touched_s = now_s
            with contextlib.suppress(OSError):
                self._path.touch()

    def _acquire(self) -> None:
        with output_errors(self._path):
            while True:
                try:
                    fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
                    break
                except FileExistsError:
                    self._remove_if_dead()
            with os.fdopen(fd, "w", encoding="utf-8") as file:
                json.dump({"host": socket.gethostname(), "pid": os.getpid()}, file)

    def _remove_if_dead(self) -> None:
        holder = read_json(self._path)
        if _is_alive(holder, self._path):
            where = f"process {holder.get('pid', '?')} on {holder.get('host', '?')}"
            raise OutputError(
                f"{self._path.parent}: another forkrun works in this run directory ({where});"
                f" wait for it, or, if it is gone, for {_STALE_S:.0f} s"
            )
        self._path.unlink(missing_ok=True)


def _is_alive(holder: dict[str, Any], path: Path) -> bool:
    """On this host: whether the process is there; elsewhere: whether the file was touched."""
    if holder.get("host") == socket.gethostname() and "pid" in holder:
        return Path(f"/proc/{holder['pid']}").exists() and holder["pid"] != os.getpid()
    try:
        return time.time() - path.stat().st_mtime < _STALE_S
    except OSError:
        return False
