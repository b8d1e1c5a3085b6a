"""Ledgers of commits by children: one JSON line per commit, in one file per process.

Each line ends with its own checksum. A truncated or damaged line is no commit: its units are
processed again.
"""

from __future__ import annotations

import itertools
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct, convert
from msgspec.structs import asdict

from forkrun.base.durable import (
    open_new_descriptor,
    open_to_append,
    output_errors,
    write_all,
    write_bytes,
)
from forkrun.base.json_lines import complete_lines, end_last_line, read_json_lines
from forkrun.base.regular_file import open_folder, open_regular, read_regular

_AS_JSON = json.JSONEncoder(separators=(",", ":"), default=asdict)
_CHECK = ',"crc32":"{:08x}"}}'
_N_CHECK = len(_CHECK.format(0))
_MOST_UNITS = 100_000_000
"""Maximum number of units in a commit; more than any plan has."""


class OutputPart(Struct, frozen=True, forbid_unknown_fields=True):
    """Fragment that units add to an output. `file`: relative to the run directory; `digest`: of its
    event ids."""

    file: str
    n_events: int
    digest: str
    n_bytes: int
    checksum: int


class SumsPart(Struct, frozen=True, forbid_unknown_fields=True):
    """Histograms or accumulators of a unit. `file`: relative to the run directory."""

    file: str
    n_bytes: int
    checksum: int


class SkippedEvent(Struct, frozen=True, forbid_unknown_fields=True):
    """An event left out because it crashes the child. `event`: its number; `file`, `entry`: its
    position in the input."""

    event: int
    file: str
    entry: int
    cause: str


CommittedFile = OutputPart | SumsPart
"""A file of a unit."""

NO_EVENTS = "0" * 32
"""Digest of no events."""
CUTFLOW_LABEL = "cutflow "
"""Prefix of the labels of cutflow counters."""


class CutCount(Struct, frozen=True, forbid_unknown_fields=True):
    """Events of a path that pass the filter `after`; "": at the start of the path. `weights`: exact
    sums of their weights and of the squares, packed; None: no weight is named. `n_missing`: events
    rejected by the filter because its value is missing."""

    after: str
    n_events: int
    weights: list[int] | None = None
    n_missing: int = 0


class Place(Struct, frozen=True):
    """Position of a ledger in the run directory of a whole job: its `folder`, and the numbers of
    units and children before its own."""

    folder: str
    unit: int
    child: int

    def move(self, data: dict[str, Any]) -> None:
        """Changes the fields of a line. Raises LookupError or TypeError for unexpected fields."""
        data["unit"] += self.unit
        data["child"] += self.child
        sums = (data["histograms"], data.get("accumulators"))
        for part in (*data["outputs"].values(), *sums):
            if part:
                part["file"] = f"{self.folder}/{part['file']}"


class Commit(Struct, frozen=True, forbid_unknown_fields=True):
    """Units [unit, unit + n_units) of the plan, done together. `run`, `lumi`: of the first unit;
    `n_events`, `digest`: of the events read; `skipped`: events left out, with their digest; times
    in seconds since the epoch; checksums are CRC-32C; `block_size`: maximum events per block, 0:
    chosen by the source; `cutflow`: by path, events after each filter, None: not counted; `build`:
    of the forkrun that processed it; `dataset`: number of the dataset of all events; `nan_fills`:
    NaN values filled, by histogram (MODULE/NAME); `computed_s`: when an earlier run processed the
    events; 0: this run did."""

    unit: int
    child: int
    pid: int
    run: int
    lumi: int
    n_events: int
    digest: str
    skipped: tuple[SkippedEvent, ...]
    skipped_digest: str
    outputs: dict[str, OutputPart]
    histograms: SumsPart | None
    start_s: float
    end_s: float
    wall_s: float
    cpu_s: float
    read_calls: int
    read_bytes: int
    n_units: Annotated[int, Meta(ge=1, le=_MOST_UNITS)] = 1
    block_size: int = 0
    cutflow: dict[str, list[CutCount]] | None = None
    accumulators: SumsPart | None = None
    build: str = ""
    dataset: int = 0
    nan_fills: dict[str, int] = {}
    cached_bytes: int = 0
    computed_s: float = 0.0

    @property
    def units(self) -> range:
        """Numbers of the units."""
        return range(self.unit, self.unit + self.n_units)

    @property
    def places(self) -> slice:
        """Slice of the units in the columns of a plan."""
        return slice(self.unit, self.unit + self.n_units)

    def to_line(self) -> str:
        """Line of a ledger, with its end."""
        text = _AS_JSON.encode(self)[:-1]
        return text + _CHECK.format(zlib.crc32(text.encode())) + "\n"

    @classmethod
    def from_line(cls, line: bytes, at: Place | None = None) -> Commit:
        """Inverse of `to_line`, with or without the line end; `at`: moves the commit into a whole
        job. Raises ValueError."""
        data: dict[str, Any] = json.loads(line.decode())
        try:
            check = data.pop("crc32", None)  # None: from an earlier version, or written by hand
            if check not in (None, f"{zlib.crc32(line.rstrip()[:-_N_CHECK]):08x}"):
                raise ValueError("its checksum differs")
            if at is not None:
                at.move(data)
            commit = convert(data, cls)
        except (AttributeError, LookupError, TypeError) as error:
            raise ValueError(f"{type(error).__name__}: {error}") from None
        for digest in (commit.digest, commit.skipped_digest):
            int(digest, 16)
        return commit

    @property
    def parts(self) -> list[CommittedFile]:
        """All files of the units."""
        sums = (self.histograms, self.accumulators)
        return [*self.outputs.values(), *(part for part in sums if part)]

    @property
    def duration_s(self) -> float:
        """Time from the start of the first unit to the commit."""
        return self.end_s - self.start_s


def ledger_files(folder: Path) -> list[Path]:
    """Ledgers of all processes, sorted by child."""
    return [folder / name for name in _ledgers_among(_names(folder))]


def _names(folder: Path | str) -> list[str]:
    """Names of the files in a folder. A job may have thousands of folders."""
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _ledgers_among(names: list[str]) -> list[str]:
    return sorted(n for n in names if n.startswith("child-") and n.endswith(".jsonl"))


class StoredLedgers(Struct, frozen=True):
    """Content of the ledgers in a folder. `name`: of the folder; `revoked`: (unit, end_s) of each
    revoked commit."""

    name: str
    data: dict[str, bytes]
    revoked: set[tuple[int, float]]

    @classmethod
    def read(cls, folder: Path, damaged: list[str]) -> StoredLedgers:
        """Reads a folder; may miss concurrent writes. `damaged` gets a text for each invalid line
        of revoked commits."""
        try:
            place = open_folder(folder)
        except (FileNotFoundError, NotADirectoryError):
            return cls(folder.name, {}, set())
        try:
            names = os.listdir(place)
            revoked = read_revoked(folder, damaged) if _REVOKED in names else set()
            data = {n: read_regular(f"{folder}/{n}", place) for n in _ledgers_among(names)}
        finally:
            os.close(place)
        return cls(folder.name, data, revoked)

    def commits(self, damaged: list[str], at: Place | None = None) -> list[Commit]:
        """Every valid commit, process by process; repeated lines count once. `damaged` gets a text
        for each invalid line. `at`: moves the commits into a whole job."""
        first: dict[int, Commit] = {}
        n_before = at.unit if at else 0
        commits = []
        for name, data in self.data.items():
            for commit in _commits(f"{self.name}/{name}", complete_lines(data), damaged, at):
                if (commit.unit - n_before, commit.end_s) in self.revoked:
                    continue
                known = first.setdefault(commit.unit, commit)
                if known is commit or known != commit:
                    commits.append(commit)
        return commits


def read_ledgers(folder: Path, damaged: list[str] | None = None) -> list[Commit]:
    """Every valid commit; may miss concurrent writes. `damaged` gets a text for each invalid
    line."""
    damaged = [] if damaged is None else damaged
    return StoredLedgers.read(folder, damaged).commits(damaged)


def units_by_build(commits: Iterable[Commit]) -> dict[str, int]:
    """Number of units processed by each build of forkrun."""
    n_units: dict[str, int] = {}
    for commit in commits:
        build = commit.build or "an unknown build"
        n_units[build] = n_units.get(build, 0) + commit.n_units
    return n_units


def read_on(file: Path, n_bytes_read: int) -> tuple[list[Commit], int]:
    """Commits in a ledger after the first `n_bytes_read` bytes, and the new number of bytes
    read."""
    with os.fdopen(open_regular(file), "rb") as stream:
        stream.seek(n_bytes_read)
        lines = complete_lines(stream.read())
    n_bytes = sum(len(line) + 1 for line in lines)
    return list(_commits(file.name, lines, [])), n_bytes_read + n_bytes


def _commits(
    file: str, lines: Iterable[bytes], damaged: list[str], at: Place | None = None
) -> Iterator[Commit]:
    for number, line in enumerate(lines, start=1):
        try:
            yield Commit.from_line(line, at)
        except (ValueError, RecursionError) as error:
            damaged.append(f"{file}: line {number} is damaged ({error})")


# --- revoked commits ------------------------------------------------------------------------------

_REVOKED = "revoked.jsonl"
"""File in the folder of the ledgers: one line {"unit", "end_s", "why"} per commit."""


def read_revoked(folder: Path, damaged: list[str]) -> set[tuple[int, float]]:
    """(unit, end_s) of each revoked commit."""
    revoked = set()
    for record in read_json_lines(folder / _REVOKED, damaged):
        unit, end_s = record.get("unit"), record.get("end_s")
        if isinstance(unit, int) and isinstance(end_s, int | float):
            revoked.add((unit, end_s))
        else:
            damaged.append(f"{_REVOKED}: not a unit and a time: {str(record)[:80]}")
    return revoked


def revoke(folder: Path, commits: Iterable[tuple[Commit, str]]) -> None:
    """Revokes commits, each with its reason, and syncs to disk."""
    records = [{"unit": c.unit, "end_s": c.end_s, "why": why} for c, why in commits]
    if not records:
        return
    path = folder / _REVOKED
    with output_errors(path):
        descriptor = open_to_append(path)
        try:
            end_last_line(descriptor)
            write_all(descriptor, "".join(json.dumps(r) + "\n" for r in records).encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# --- writing --------------------------------------------------------------------------------------


class Ledger:
    """Ledger of this process, in a file of its own: never continues a truncated line of a dead
    process. Each line is on disk when `append` returns."""

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
