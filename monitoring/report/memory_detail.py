"""Memory of children by kind; what became private since the fork, and why; what is new. With the
tables of these."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any
from zipfile import BadZipFile

import numpy as np
from msgspec import Struct, convert, to_builtins

from forkrun import _core
from forkrun.base.json_lines import read_json_lines
from forkrun.base.regular_file import read_regular
from forkrun.errors import InputError
from forkrun.monitoring.job_memory import (
    FILES,
    OF_FILE,
    STACK,
    MemoryKinds,
    Moment,
    parse_maps,
)
from forkrun.monitoring.report.attribution import PYMALLOC, Objects, Unshared, attribute
from forkrun.monitoring.report.tables import Json
from forkrun.monitoring.tables import Column, Table
from forkrun.rundir.directory import RunDirectory

INTERPRETER = "(Python itself)"
UNKNOWN = "freed, or not known"
NO_OWNER = "(no Python object)"
_FEW_BYTES = 10_000
_OWN = ("private_bytes", "new_bytes", "own")


class Owner(Struct, frozen=True):
    """All memory of one condition, one module or Python itself, or without owner (""). Bytes;
    private: the mean over the children."""

    owner: str
    at_fork_bytes: float
    private_bytes: float
    after: str


class Kind(Struct, frozen=True):
    """Memory of one kind, in bytes, means over the children at their ends: shared with others,
    private since it was written to, and new since the fork. Private and new memory of all kinds add
    up to the private memory of a child."""

    kind: str
    shared_bytes: float
    private_bytes: float
    new_bytes: float


class AtMoment(Struct, frozen=True):
    """Mean memory of a child, or of the parent, at a moment: sums, and private bytes by the use of
    addresses."""

    process: str
    n_processes: int
    private_bytes: float
    shared_bytes: float
    private_by_use_bytes: Mapping[str, float]


class MemoryDetail(Struct, frozen=True):
    """`at_fork_bytes`: anonymous memory of the parent at the fork; means over the children of what
    became private of it, and of what is new. `rows`: by owner, type and place, largest private
    memory first; `imports`: Python modules imported by children, by label of the importing job
    module, "" for other imports."""

    n_children: int
    at_fork_bytes: int
    private_bytes_per_child: float
    private_bytes_by_child: Mapping[int, int]
    new_bytes_by_child: Mapping[int, int]
    kinds: tuple[Kind, ...]
    moments: tuple[AtMoment, ...]
    owners: tuple[Owner, ...]
    imports: Mapping[str, tuple[str, ...]]
    rows: tuple[Unshared, ...]

    def to_json(self) -> dict[str, Any]:
        """Value in report.json."""
        return dict(to_builtins(self))


def read_memory_detail(folder: RunDirectory) -> MemoryDetail | None:
    """Reads a run with `[monitoring] memory_detail = true`; None for others. Raises InputError if
    its records are damaged."""
    if not folder.unshared_pages.exists():
        return None
    try:
        return _read(folder)
    except (OSError, ValueError, LookupError, TypeError, EOFError, BadZipFile) as error:
        raise InputError(f"{folder.monitoring}/unshared-*: cannot be read: {error}") from None


def _read(folder: RunDirectory) -> MemoryDetail:
    names, page_size = json.loads(read_regular(folder.unshared_names)), _core.page_size()
    borders = {int(border): tuple(words) for border, words in names["borders"].items()}
    with (
        np.load(folder.unshared_pages, allow_pickle=False) as pages,
        np.load(folder.unshared_objects, allow_pickle=False) as objects,
    ):
        at_fork = pages["at_fork"]
        children = {
            int(k.removeprefix("child_")): pages[k] for k in pages if k.startswith("child_")
        }
        rows = attribute(
            at_fork,
            list(children.values()),
            parse_maps(read_regular(folder.unshared_maps).decode().splitlines()),
            Objects.of(objects["parts"]),
            names,
            {border: words[0] for border, words in borders.items()},
            page_size,
        )
    grown = {
        int(child): {int(border): n for border, n in each.items()}
        for child, each in json.loads(read_regular(folder.unshared_growth)).items()
    }
    found = [convert(line, MemoryKinds) for line in read_json_lines(folder.memory_kinds)]
    return MemoryDetail(
        n_children=len(children),
        at_fork_bytes=len(at_fork) * page_size,
        private_bytes_per_child=sum(row.private_bytes for row in rows),
        private_bytes_by_child={child: len(each) * page_size for child, each in children.items()},
        new_bytes_by_child={child: sum(each.values()) for child, each in grown.items()},
        kinds=tuple(_kinds(rows, grown, {n: words[1] for n, words in borders.items()}, found)),
        moments=tuple(_moments(found)),
        owners=tuple(_owners(rows)),
        imports=_imports(folder),
        rows=tuple(rows),
    )


def _owners(rows: Sequence[Unshared]) -> list[Owner]:
    """Sums over types and places; largest private memory first."""
    names = dict.fromkeys(row.owner for row in rows)
    found = [Owner(name, *_sums(row for row in rows if row.owner == name)) for name in names]
    return sorted(found, key=lambda owner: -owner.private_bytes)


def _sums(rows: Iterable[Unshared]) -> tuple[float, float, str]:
    rows, after = list(rows), defaultdict[str, float](float)
    for row in rows:
        for border, n_bytes in row.after.items():
            after[border] += n_bytes
    first = max(after, key=lambda border: after[border], default="")
    return sum(r.at_fork_bytes for r in rows), sum(r.private_bytes for r in rows), first


def _kinds(
    rows: Sequence[Unshared],
    grown: Mapping[int, Mapping[int, int]],
    kind_of: Mapping[int, str],
    found: Sequence[MemoryKinds],
) -> Iterator[Kind]:
    """Memory at the fork by its owner and place, then new memory by what preceded it, then the rest
    of the private memory at the end."""
    at_end = _last(found, Moment.END)
    of_files = [each.kinds[FILES] for each in at_end]
    shared, private, new = (defaultdict[str, float](float) for _ in range(3))
    for row in rows:
        kind = _kind_of(row)
        shared[kind] += row.at_fork_bytes - row.private_bytes
        private[kind] += row.private_bytes
    for each in grown.values():
        for border, n_bytes in each.items():
            new[kind_of.get(border, UNKNOWN)] += n_bytes / len(grown)
    if of_files:
        shared[FILES] = fmean(each[1] for each in of_files)
        new[FILES] += fmean(each[0] for each in of_files) - private[FILES]
        total = fmean(sum(a for a, _ in each.kinds.values()) for each in at_end)
        new[UNKNOWN] += total - sum(private.values()) - sum(new.values())
    for kind in {**shared, **new}:
        yield Kind(kind, shared[kind], private[kind], new[kind])


def _kind_of(row: Unshared) -> str:
    if row.owner.startswith("condition "):
        return "conditions"
    if row.owner.startswith("module "):
        return "objects of modules"
    if row.where.startswith(OF_FILE):
        return FILES
    if row.owner == INTERPRETER or row.where == PYMALLOC:
        return "Python"
    return STACK if row.where == STACK else "C and C++"


def _last(found: Iterable[MemoryKinds], moment: Moment) -> list[MemoryKinds]:
    """Readings of the last process of each child, or of the parent."""
    return [*{each.child: each for each in found if each.moment == moment}.values()]


def _moments(found: Sequence[MemoryKinds]) -> Iterator[AtMoment]:
    for moment in Moment:
        read = _last(found, moment)
        parts = (
            ("parent", [each for each in read if each.child is None]),
            ("child", [each for each in read if each.child is not None]),
        )
        for name, each in parts:
            if each:
                private = {use: fmean(of.kinds[use][0] for of in each) for use in each[0].kinds}
                shared = fmean(sum(b for _, b in of.kinds.values()) for of in each)
                yield AtMoment(
                    f"{name} {moment}", len(each), sum(private.values()), shared, private
                )


def _imports(folder: RunDirectory) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for file in folder.all_unshared_imports():
        for label, names in json.loads(read_regular(file)).items():
            found.setdefault(label, {}).update(dict.fromkeys(names))
    return {label: tuple(names) for label, names in found.items()}


def by_kind(detail: Json) -> Table:
    """Memory of a child at its end."""
    rows = [{**each, "own": each["private_bytes"] + each["new_bytes"]} for each in detail["kinds"]]
    total = {key: sum(row[key] for row in rows) for key in ("shared_bytes", *_OWN)}
    columns = (
        Column("kind", "kind", word="kind of memory"), Column("shared_bytes", "shared", "size", 2),
        Column("private_bytes", "became private", "size", 1), Column("new_bytes", "new", "size", 1),
        Column("own", "private", "size", bar=True),
    )  # fmt: skip
    rows = [
        {key: value or None for key, value in row.items()}
        for row in sorted(rows, key=lambda row: -row["own"])
        if any(abs(row[key]) >= _FEW_BYTES for key in total)
    ]
    return Table("Memory of a child by kind", columns, [*rows, {"kind": "in all", **total}])


def by_use(detail: Json) -> Table:
    """Memory by use of addresses, of a child and of the parent."""
    uses = {use: None for each in detail["moments"] for use in each["private_by_use_bytes"]}
    columns = (
        Column("process", "process"), Column("n_processes", "processes", "count", 3),
        Column("shared_bytes", "shared", "size"), Column("private_bytes", "private", "size"),
        *(Column(use, use, "size", 1) for use in uses),
    )  # fmt: skip
    rows = [{**each, **each["private_by_use_bytes"]} for each in detail["moments"]]
    return Table("Private memory by use of its addresses", columns, rows)


def by_owner(detail: Json) -> Table:
    rows = [
        {
            **each,
            "owner": each["owner"] or NO_OWNER,
            "part": each["private_bytes"] / each["at_fork_bytes"]
            if each["at_fork_bytes"]
            else None,
            "after": each["after"] or None,
        }
        for each in detail["owners"]
    ]
    columns = (
        Column("owner", "owner"), Column("at_fork_bytes", "at the fork", "size", 2),
        Column("private_bytes", "became private", "size"), Column("part", "part", "share", 1),
        Column("after", "mostly after", detail=3),
    )  # fmt: skip
    return Table("Became private, by owner, per child", columns, rows)


def became_private(detail: Json, most: int) -> Table:
    """Memory by owner, type and place."""
    rows = [
        {
            **row,
            "owner": row["owner"] or NO_OWNER,
            "type": row["type"] or None,
            "after": next(iter(row["after"]), None),
        }
        for row in detail["rows"]
        if row["private_bytes"]
    ]
    columns = (
        Column("private_bytes", "became private", "size"),
        Column("at_fork_bytes", "of", "size", 2, "of memory"), Column("owner", "owner"),
        Column("type", "type"), Column("where", "where", detail=3),
        Column("after", "mostly after", detail=4),
        Column("why", "why, usually", detail=1),
    )  # fmt: skip
    return Table("Became private, by type and place, per child", columns, rows, most)
