"""The places of everything that a run leaves."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from forkrun.errors import OutputError

_ENTRIES = {
    "config.json", "plan.json", "conditions.json", "ledger", "units", "logs", "monitoring",
    "output", "report.json", "report.txt", "plots", "timing.json", "trace.json",
    "fingerprint.json", "lumis.json", "processedLumis.json", "failedLumis.json",
    "notFinishedLumis.json", "lock",
}  # fmt: skip
_RESULTS = ("output", "report.json", "report.txt", "plots", "timing.json", "trace.json")
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
    def conditions(self) -> Path:
        return self.path / "conditions.json"

    @property
    def ledger(self) -> Path:
        return self.path / "ledger"

    @property
    def merge_summary(self) -> Path:
        """Made by a merge of everything."""
        return self.ledger / "merge.json"

    @property
    def fingerprint(self) -> Path:
        return self.path / "fingerprint.json"

    @property
    def input_lumis(self) -> Path:
        return self.path / "lumis.json"

    @property
    def lock(self) -> Path:
        return self.path / "lock"

    @property
    def units(self) -> Path:
        return self.path / "units"

    @property
    def output(self) -> Path:
        return self.path / "output"

    @property
    def parent_log(self) -> Path:
        return self.path / "logs" / "parent.log"

    def child_ledgers(self, child: int) -> list[Path]:
        """Of all processes that were this child, in no order."""
        return list(self.ledger.glob(f"child-{child:03d}.*"))

    def log(self, name: str, parent_pid: int) -> Path:
        """Of a process of this parent: `child-003`, `merge`."""
        return self.path / "logs" / f"{parent_pid}-{name}.log"

    def logs_of(self, child: int) -> list[Path]:
        """The last one is the newest."""
        logs = (self.path / "logs").glob(f"*-child-{child:03d}.log")
        return sorted(logs, key=lambda log: log.stat().st_mtime)

    def holds_run(self, force: bool) -> bool:
        """Whether it holds the beginning of a run that is not to be replaced. Raises OutputError
        unless it does, or can be made, or emptied by `force`."""
        with output_errors(self.path):
            if self.path.exists() and not self.path.is_dir():
                raise OutputError(f"{self.path}: this is a file; choose another folder with -o")
            names = {e.name for e in self.path.iterdir()} if self.path.is_dir() else set()
        if not names - {"lock"}:
            return False
        strangers = {name for name in names if name.removesuffix(".part") not in _ENTRIES}
        if not strangers and read_json(self.lock) and not self.config.exists():
            return False  # its parent was killed before it had begun
        if strangers or not self.is_run_directory():
            strange = ", ".join(sorted(strangers)[:3]) or "no config.json"
            raise OutputError(
                f"{self.path}: this folder is no run directory, or holds something else as well"
                f" ({strange}); choose another one with -o"
            )
        return not force

    def is_finished(self) -> bool:
        """Whether all of the run was merged."""
        return self.merge_summary.exists()

    def is_run_directory(self) -> bool:
        """Whether a run of ours made it."""
        return {"job", "source", "forking"} <= read_json(self.config).keys()

    def has_good_report(self) -> bool:
        """Whether the report says that the run is done."""
        job = read_json(self.path / "report.json").get("job", {})
        return bool(job.get("outcome") == "done")

    def create(self) -> None:
        """Makes the folders; an earlier run goes. To be called under the lock."""
        self._clear(_ENTRIES - {"lock"})

    def remove_results(self) -> None:
        """What a run that goes on will make anew."""
        self._clear(_RESULTS)

    def _clear(self, entries: Iterable[str]) -> None:
        with output_errors(self.path):
            for entry in entries:
                _remove(self.path / entry)
                _remove(self.path / f"{entry}.part")
            for folder in _FOLDERS:
                (self.path / folder).mkdir(parents=True, exist_ok=True)


def unused(path: Path) -> Path:
    """The path, or with a number before its suffix the first one that does not exist: x.jsonl,
    x.1.jsonl, …"""
    number, candidate = 0, path
    while candidate.exists():
        number += 1
        candidate = path.with_suffix(f".{number}{path.suffix}")
    return candidate


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def read_json(path: Path) -> dict[str, Any]:
    """Of a file with a JSON object; empty if there is no such thing."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


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


class output_errors:  # noqa: N801 -- as contextlib.suppress
    """Turns an OSError into an OutputError that names the path and what to do."""

    def __init__(self, path: Path | str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, OSError):
            where = error.filename or self._path
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
