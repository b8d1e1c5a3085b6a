"""A ledger of one process: what is in it has been done."""

from __future__ import annotations

import itertools
import os

from forkrun.rundir.directory import output_errors
from forkrun.rundir.ledger import Commit

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC


class Ledger:
    """Appends to a file that is this process's own: what a process that died may have left of a
    line is nobody's beginning. Each line is on disk when `append` returns."""

    def __init__(self, folder: str, child: int) -> None:
        self._path = f"{folder}/child-{child:03d}"
        with output_errors(self._path):
            self._fd = _open_new(self._path)

    def append(self, commit: Commit) -> None:
        """One write per line: a reader sees all of it, or a line without its end."""
        line = commit.to_line().encode()
        with output_errors(self._path):
            n_written = os.write(self._fd, line)
            if n_written < len(line):  # the disk is full: the rest says why
                os.write(self._fd, line[n_written:])
            os.fsync(self._fd)

    def close(self) -> None:
        """Nothing is pending."""
        os.close(self._fd)


def _open_new(stem: str) -> int:
    """STEM.jsonl, or the first of STEM.1.jsonl, … that does not exist."""
    for number in itertools.count():
        try:
            return os.open(f"{stem}.{number}.jsonl" if number else f"{stem}.jsonl", _FLAGS, 0o644)
        except FileExistsError:
            continue
    raise AssertionError("there is no last number")
