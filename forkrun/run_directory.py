"""The places of everything that a run leaves."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forkrun.errors import OutputError

_ENTRIES = {
    "config.json", "plan.json", "ledger", "units", "logs", "monitoring", "output",
    "report.json", "report.txt", "plots", "timing.json", "trace.json",
}  # fmt: skip
_FOLDERS = ("ledger", "units", "logs", "monitoring", "output")


@dataclass(frozen=True)
class RunDirectory:
    """Names only; `create` makes it."""

    path: Path

    @property
    def config(self) -> Path:
        return self.path / "config.json"

    @property
    def plan(self) -> Path:
        return self.path / "plan.json"

    @property
    def ledger(self) -> Path:
        return self.path / "ledger"

    @property
    def units(self) -> Path:
        return self.path / "units"

    @property
    def output(self) -> Path:
        return self.path / "output"

    @property
    def parent_log(self) -> Path:
        return self.path / "logs" / "parent.log"

    def child_ledger(self, child: int) -> Path:
        return self.ledger / f"child-{child:03d}.jsonl"

    def unit(self, number: int) -> Path:
        return self.units / f"{number:06d}"

    def log(self, name: str, parent_pid: int) -> Path:
        """Of a process of this parent: `child-003`, `merge`."""
        return self.path / "logs" / f"{parent_pid}-{name}.log"

    def check_free(self, force: bool) -> None:
        """Raises OutputError unless the folder can be made, or `force` may empty it."""
        with output_errors(self.path):
            if self.path.exists() and not self.path.is_dir():
                raise OutputError(f"{self.path}: this is a file; choose another folder with -o")
            entries = {e.name for e in self.path.iterdir()} if self.path.is_dir() else set()
        if not entries:
            return
        if not force:
            raise OutputError(
                f"{self.path}: this run directory exists; choose another one with -o,"
                " or replace it with --force"
            )
        if not self.is_run_directory() or entries - _ENTRIES:
            strange = ", ".join(sorted(entries - _ENTRIES)[:3]) or "no config.json"
            raise OutputError(
                f"{self.path}: --force replaces run directories only, and this folder holds"
                f" something else ({strange}); choose another one with -o"
            )

    def is_run_directory(self) -> bool:
        """Whether a run of ours made it."""
        try:
            return {"job", "source", "forking"} <= set(json.loads(self.config.read_bytes()))
        except (OSError, ValueError, TypeError):
            return False

    def create(self, force: bool) -> None:
        """Makes the folders; an earlier run goes if `force`."""
        self.check_free(force)
        with output_errors(self.path):
            for entry in _ENTRIES:
                _remove(self.path / entry)
            for folder in _FOLDERS:
                (self.path / folder).mkdir(parents=True)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def write_json(path: Path, value: Any, indent: int | None = 1) -> None:
    """Written beside, synced, renamed. `indent` None is compact and much faster."""
    beside = path.with_name(path.name + ".part")
    with output_errors(path):
        with beside.open("w", encoding="utf-8") as file:
            file.write(json.dumps(value, indent=indent))
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)


@contextlib.contextmanager
def output_errors(path: Path) -> Iterator[None]:
    """Turns an OSError into an OutputError that names the path and what to do."""
    try:
        yield
    except OSError as error:
        where = error.filename or path
        raise OutputError(f"{where}: cannot write: {error.strerror}{_remedy(error)}") from error


def _remedy(error: OSError) -> str:
    match error.errno:
        case 28 | 122:  # ENOSPC, EDQUOT
            return "; free space, or choose another place with -o"
        case 13 | 30:  # EACCES, EROFS
            return "; choose a place that you may write to with -o"
        case 27:  # EFBIG
            return "; the file would exceed the limit on file sizes (ulimit -f)"
    return ""
