"""Memory that became private in a run's children, and the preceding events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from msgspec import Struct, to_builtins

from forkrun import _core
from forkrun.errors import InputError
from forkrun.parent.page_watch import INTERPRETER, read_names
from forkrun.rundir.directory import RunDirectory
from forkrun.schedule.job_schedule import Border
from forkrun.studies.measure.attribution import Objects, Unshared, attribute, parse_maps

_BORDERS: dict[int, str] = {
    Border.START: "start of the child",
    Border.BETWEEN_UNITS: "between units of work",
    Border.LATER: "later",
    Border.END: "end of the job",
    Border.CORE: "the core, between modules",
}


class Owner(Struct, frozen=True):
    """All memory of one condition, one module or Python itself, or without owner (""). Bytes;
    private: the mean over the children."""

    owner: str
    at_fork_bytes: float
    private_bytes: float
    after: str


class UnsharedMemory(Struct, frozen=True):
    """`rows`: by owner, type and place, largest private memory first. `private_bytes`: mean over
    the children; `by_child_bytes`: of each; `imports`: Python modules imported by children, by
    label of the importing job module, "" for other imports."""

    n_children: int
    at_fork_bytes: int
    private_bytes: float
    by_child_bytes: Mapping[int, int]
    rows: Sequence[Unshared]
    imports: Mapping[str, Sequence[str]] = {}

    @property
    def owners(self) -> list[Owner]:
        """Sums over types and places; largest private memory first."""
        found = [
            Owner(name, *_sums(row for row in self.rows if row.owner == name))
            for name in dict.fromkeys(row.owner for row in self.rows)
        ]
        return sorted(found, key=lambda owner: -owner.private_bytes)

    def to_json(self) -> dict[str, Any]:
        """Sizes in bytes."""
        return {
            "n_children": self.n_children,
            "at_fork_bytes": self.at_fork_bytes,
            "private_bytes_per_child": self.private_bytes,
            "private_bytes_by_child": dict(self.by_child_bytes),
            "owners": [to_builtins(owner) for owner in self.owners],
            "imports": dict(self.imports),
            "rows": [{**to_builtins(row), "why": why(row)} for row in self.rows],
        }


def _sums(rows: Iterable[Unshared]) -> tuple[float, float, str]:
    rows = list(rows)
    after: dict[str, float] = {}
    for row in rows:
        for border, n_bytes in row.after.items():
            after[border] = after.get(border, 0.0) + n_bytes
    first = max(after, key=lambda border: after[border], default="")
    return sum(r.at_fork_bytes for r in rows), sum(r.private_bytes for r in rows), first


def read_unshared(run_dir: Path) -> UnsharedMemory:
    """Reads a run with `[monitoring] unshared = true`. Raises InputError if it was not watched."""
    files = RunDirectory(run_dir)
    if not files.unshared_pages.exists():
        raise InputError(
            f"{run_dir}: this run was not watched; run it with --set monitoring.unshared=true, or"
            " give measure unshared the configuration"
        )
    try:
        return _read(files)
    except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile) as error:
        raise InputError(f"{files.monitoring}/unshared-*: cannot be read: {error}") from None


def _read(files: RunDirectory) -> UnsharedMemory:
    names, page_size = read_names(files), _core.page_size()
    with (
        np.load(files.unshared_pages, allow_pickle=False) as pages,
        np.load(files.unshared_objects, allow_pickle=False) as objects,
    ):
        at_fork = pages["at_fork"]
        children = {
            int(k.removeprefix("child_")): pages[k] for k in pages if k.startswith("child_")
        }
        rows = attribute(
            at_fork,
            list(children.values()),
            parse_maps(files.unshared_maps.read_text(encoding="utf-8")),
            Objects.of(objects["parts"]),
            names,
            {**_BORDERS, **{Border.FIRST_NODE + i: n for i, n in enumerate(names["nodes"])}},
            page_size,
        )
    return UnsharedMemory(
        n_children=len(children),
        at_fork_bytes=len(at_fork) * page_size,
        private_bytes=sum(row.private_bytes for row in rows),
        by_child_bytes={child: len(found) * page_size for child, found in children.items()},
        rows=rows,
        imports=_imports(files),
    )


def _imports(files: RunDirectory) -> dict[str, list[str]]:
    found: dict[str, dict[str, None]] = {}
    for file in files.all_unshared_imports():
        for label, names in json.loads(file.read_bytes()).items():
            found.setdefault(label, {}).update(dict.fromkeys(names))
    return {label: list(names) for label, names in found.items()}


def why(row: Unshared) -> str:
    """The usual reason for such memory, in a few words."""
    if row.where == "stack":
        return "local variables"
    if row.where.startswith("data of"):
        return "variables of a library"
    if row.type.startswith("array of"):
        return "written to, or next to what was"
    if row.owner == INTERPRETER:
        return "counts of references"
    if row.owner:
        return "counts of references"
    if row.where == "pymalloc arena":
        return "new objects in free places"
    return "malloc in free places; C++ that writes"
