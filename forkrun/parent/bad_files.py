"""Unreadable input files: their units are left out, and the job continues."""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from forkrun.base.durable import read_json, write_json
from forkrun.base.quantities import plural
from forkrun.errors import FilesLeftOutError, ForkrunError, InputError
from forkrun.index.model import Flags
from forkrun.plan.model import Units
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import read_ledgers, revoke


class BadFiles:
    """`left_out` : (n_units,) bool, in memory shared with children. `why`: reason for each file
    left out; at first only files that could not be indexed."""

    def __init__(
        self,
        units: Units,
        files: Sequence[str] = (),
        unreadable: Mapping[str, str] | None = None,
        *,
        is_to_skip: bool = False,
    ) -> None:
        self._units, self._files, self._is_to_skip = units, files, is_to_skip
        n_units = len(units)
        self.left_out: Flags = np.frombuffer(mmap.mmap(-1, n_units + 1), np.bool_)[:n_units]
        self.why: dict[str, str] = {}
        for file, why in (unreadable or {}).items():
            self._leave_out(file, why)

    def note(self, error: ForkrunError | None) -> str:
        """Leaves out the file named by an error, if the job permits it and other files remain.
        Returns a message, or "" if the file stays."""
        if not self._is_to_skip or not isinstance(error, InputError):
            return ""
        file = named_file(error, self._files)
        if file is None or file in self.why or len(self.why) + 1 == len(set(self._files)):
            return ""
        self._leave_out(file, str(error).partition(f"{file}: ")[2])
        return f"{file} is left out"

    @property
    def numbers(self) -> list[int]:
        """Numbers of the files."""
        return [number for number, file in enumerate(self._files) if file in self.why]

    def _leave_out(self, file: str, why: str) -> None:
        self.why[file] = why
        units = self._units
        bad = [number for number, each in enumerate(self._files) if each == file]
        is_bad = np.concatenate(([0], np.cumsum(np.isin(units.file, bad))))
        self.left_out |= np.diff(is_bad[units.first_range]) > 0

    def revoke(self, folder: RunDirectory) -> None:
        """Revokes commits with events of such files: they cannot be merged."""
        bad = [c for c in read_ledgers(folder.ledger) if self.left_out[c.places].any()]
        revoke(folder.ledger, [(commit, "a file of it cannot be read") for commit in bad])

    def raise_if_any(self, folder: RunDirectory) -> None:
        """Raises FilesLeftOutError, which names the files, and records them."""
        if not self.why:
            return
        n_events = int(self._units.n_events[self.left_out].sum())
        planned = {self._files[n] for n in np.unique(self._units.file).tolist()}
        write_json(
            folder.files_left_out,
            {f: {"why": why, "is_planned": f in planned} for f, why in self.why.items()},
        )
        others = len(self.why.keys() - planned)
        events = plural(n_events, "event") + (
            f" and all of {plural(others, 'file')}" if others else ""
        )
        lines = [f"{file}: left out: {why}" for file, why in self.why.items()]
        raise FilesLeftOutError(
            "\n".join(lines) + f"\ndone without {plural(len(self.why), 'file')} of the input"
            f" ({events}): running the same command again takes up what can be read then"
        )


def named_file(error: InputError, files: Iterable[str]) -> str | None:
    """Input file named by an error."""
    return next((file for file in files if f" {file}: " in f" {error}"), None)


def files_that_came_back(folder: RunDirectory, unreadable: Iterable[str]) -> list[str]:
    """Files that an earlier run left out without knowing their events, and that are now readable:
    they change the plan."""
    before = read_json(folder.files_left_out) or {}
    unplanned = (file for file, known in before.items() if not known["is_planned"])
    return sorted(set(unplanned) - set(unreadable))
