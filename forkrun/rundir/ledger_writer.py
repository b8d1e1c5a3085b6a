"""Ledger of one process: a record of finished work."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable
from pathlib import Path

from forkrun.base.durable import open_new_descriptor, output_errors, write_all, write_bytes
from forkrun.rundir.ledger import Commit


class Ledger:
    """Appends to a file of this process alone: never continues a truncated line of a dead process.
    Each line is on disk when `append` returns."""

    def __init__(self, folder: str, child: int) -> None:
        self._path = f"{folder}/child-{child:03d}"
        with output_errors(self._path):
            self._fd = _open_new(self._path)

    def append(self, commit: Commit) -> None:
        """Appends a line in one write: a reader sees all of it, or a line without its end."""
        line = commit.to_line().encode()
        with output_errors(self._path):
            write_all(self._fd, line)
            os.fsync(self._fd)

    def close(self) -> None:
        """Closes the file; nothing is pending."""
        os.close(self._fd)


def write_kept(folder: str, commits: Iterable[Commit]) -> None:
    """Starts a ledger with events processed by earlier runs."""
    path = f"{folder}/child-kept.jsonl"
    write_bytes(Path(path), "".join(commit.to_line() for commit in commits).encode())


def _open_new(stem: str) -> int:
    """Opens STEM.jsonl, or the first unused of STEM.1.jsonl, …"""
    for number in itertools.count():
        try:
            return open_new_descriptor(f"{stem}.{number}.jsonl" if number else f"{stem}.jsonl")
        except FileExistsError:
            continue
    raise AssertionError("every number is taken")
