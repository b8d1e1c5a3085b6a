"""Commits, as the parent reads them in the children's ledgers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from forkrun.parent.deadline import time_to_make_outputs_s
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit, ledger_files, read_on


class Commits:
    """`is_done` : (n_units,) bool; `making_outputs_s`: time for one thread to make all outputs.
    `event_bytes`: compressed bytes per input event; `before`: from an earlier run of the same
    job."""

    def __init__(
        self,
        folder: RunDirectory,
        n_units: int,
        event_bytes: float = 0.0,
        before: Iterable[Commit] = (),
    ) -> None:
        self.is_done = np.zeros(n_units, dtype=np.bool_)
        self.n_events = 0
        self.making_outputs_s = 0.0
        self._event_bytes = event_bytes
        self.longest_unit_s = 0.0
        self.events_by_child: dict[int, int] = {}
        self._folder = folder
        self._read_bytes: dict[Path, int] = {
            file: file.stat().st_size for file in ledger_files(folder.ledger)
        }
        for commit in before:
            self._note(commit)

    def read_new(self, child: int) -> int:
        """Number of units committed by a child since the last call."""
        commits = [c for file in self._folder.child_ledgers(child) for c in self._new_lines(file)]
        for commit in commits:
            self._note(commit)
            done = self.events_by_child.get(child, 0)
            self.events_by_child[child] = done + commit.n_events
        return sum(commit.n_units for commit in commits)

    def _note(self, commit: Commit) -> None:
        self.is_done[commit.places] = True
        self.n_events += commit.n_events
        for part in commit.outputs.values():
            self.making_outputs_s += time_to_make_outputs_s(
                commit.n_events, part.n_events, self._event_bytes
            )
        self.longest_unit_s = max(self.longest_unit_s, commit.end_s - commit.start_s)

    def _new_lines(self, file: Path) -> list[Commit]:
        commits, self._read_bytes[file] = read_on(file, self._read_bytes.get(file, 0))
        return commits
