"""Results of a run, each with the digest of all its inputs, and stored results: the next run in the
directory keeps those with the same digest.

    results.json            the present run: the inputs of its results, and the results it keeps
    results/index.json      stored results: of the last run, and `aside` those no longer requested
    results/…               sums of histograms and accumulators; outputs as hard links; fragments

Results are stored in pieces, one for each part of the input: a run with more input keeps the
pieces of unchanged events. A piece of an output is a fragment, of which its files are made again.
Stored files are named by digest, and trusted only if size and checksum (sums), or size and time
(outputs, unused fragments) agree. So a process may be killed at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import astuple, replace

from forkrun import _core
from forkrun.base.durable import remove, sync, write_bytes, write_json
from forkrun.base.regular_file import read_regular
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit, CutCount, OutputPart

SUMS, OUTPUT, CUTFLOW = "sums", "output", "cutflow"
"""Kinds of results: an analyzer's histograms and accumulators; an output; a path's cutflow."""
_WORDS = {SUMS: "histogram ", OUTPUT: "output ", CUTFLOW: "cutflow of "}
_MOST_JOINED_BYTES = 32 << 20
"""Larger fragments are not copied when they are stored."""
_FORM = 4
"""Version of the two files."""
FileRange = tuple[str, int, int]
"""Key of a file, first entry, and the entry after the last."""


def plain_label(name: str) -> str:
    """Label of the module or path in MODULE@VARIATION/NAME."""
    return name.partition("/")[0].partition("@")[0]


class ResultDigest(Struct, frozen=True, dict=True):
    """Inputs of a result. `label`: of its module or output, or its path; `parts`: digests of the
    inputs, by name; `reasons`: why these are incomplete, so the result is always computed;
    `files`: digest of what the files of an output depend on besides, all of its events and their
    form; or the axes of a histogram that is made of fine sums."""

    kind: str
    label: str
    parts: dict[str, str]
    reasons: tuple[str, ...] = ()
    title: str = ""
    """Display name of a histogram."""
    files: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Kind and label, which identify the result in the job."""
        return self.kind, self.label

    @property
    def name(self) -> str:
        """Display name."""
        return f"{_WORDS[self.kind]}{self.title or self.label}"

    @cached_property
    def digest(self) -> str:
        """SHA-256; "" for a result that is always computed."""
        if self.reasons:
            return ""
        text = json.dumps([_FORM, self.kind, self.label, self.parts], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


class RunResults(Struct, frozen=True, dict=True):
    """Content of `results.json`. `results`: of the run, in its order; `kept`: digests of results
    taken from the store; `parts`: by digest, the parts of the input with stored pieces, in the
    order of the plan; `files`: keys of the input files."""

    results: tuple[ResultDigest, ...] = ()
    kept: tuple[str, ...] = ()
    parts: dict[str, tuple[str, ...]] = {}
    files: tuple[str, ...] = ()
    form: int = _FORM

    @classmethod
    def read(cls, folder: RunDirectory) -> RunResults:
        """Results of a run; empty where it keeps no record."""
        try:
            found = msgspec.json.decode(read_regular(folder.results_record), type=cls)
        except (OSError, ValueError):
            return cls()
        return found if found.form == _FORM else cls()

    def write(self, folder: RunDirectory) -> None:
        """Writes the record."""
        write_json(folder.results_record, msgspec.to_builtins(self), indent=None)

    def keeps(self, kind: str, label: str) -> bool:
        """Whether a result is taken from the store."""
        return (kind, label) in self._kept_keys

    @property
    def are_all_kept(self) -> bool:
        """Whether nothing is computed."""
        return bool(self.results) and all(self.keeps(*each.key) for each in self.results)

    @cached_property
    def _kept_keys(self) -> frozenset[tuple[str, str]]:
        kept = frozenset(self.kept)
        return frozenset(each.key for each in self.results if each.digest in kept)


class StoredFile(Struct, frozen=True):
    """`name`: in the folder of stored results; `place`: of an output, in the folder of outputs;
    `mtime_ns`: modification time of outputs and fragments; `checksum`: of sums and fragments."""

    name: str
    n_bytes: int
    checksum: int = 0
    place: str = ""
    mtime_ns: int = 0

    def is_as_written(self, folder: RunDirectory, *, thorough: bool = False) -> bool:
        """Whether the file exists unchanged. `thorough`: compares checksums of fragments."""
        path = folder.stored / self.name
        try:
            found = path.stat(follow_symlinks=False)
            if found.st_size != self.n_bytes:
                return False
            if self.place or (self.mtime_ns and not thorough):
                return found.st_mtime_ns == self.mtime_ns
            return bool(_core.file_checksum(str(path)) == self.checksum)
        except Exception:
            return False


class WrittenEvents(Struct, frozen=True):
    """Events of an output written by children. `digest`: of their ids."""

    n_events: int
    digest: str
    n_bytes: int


class Origin(Struct, frozen=True):
    """Events that one run has processed. `computed_s`: end of the run, since the epoch; `build`: of
    its forkrun."""

    computed_s: float
    build: str
    n_events: int


class InputPart(Struct, frozen=True):
    """Consecutive events of one dataset. `ranges`: their positions, in the order of the run that
    stored them; `events`: digest of their ids; `origins`: the runs that processed them; `datasets`:
    names of all datasets of the run; `numbers`: of the file of each range in the run."""

    ranges: tuple[FileRange, ...]
    n_events: int
    events: str
    origins: tuple[Origin, ...]
    datasets: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """Digest that identifies the part."""
        text = json.dumps([self.ranges, self.events, *map(astuple, self.origins)])
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    @property
    def last(self) -> Origin:
        """The last run that processed some of its events."""
        return max(self.origins, key=lambda origin: origin.computed_s)


def origins_of(parts: Iterable[InputPart]) -> tuple[Origin, ...]:
    """The runs that processed the events of these parts, in their order in time."""
    n_events = Counter[tuple[float, str]]()
    for origin in (origin for part in parts for origin in part.origins):
        n_events[origin.computed_s, origin.build] += origin.n_events
    return tuple(Origin(*run, n) for run, n in sorted(n_events.items()))


class Piece(Struct, frozen=True):
    """Sums, the cutflow or an output's fragment of a part of the input. `part`: its name;
    `cutflow`: by path; `nan_fills`: by histogram; `written`: events of the fragment."""

    part: str
    files: tuple[StoredFile, ...] = ()
    cutflow: dict[str, list[CutCount]] = {}
    nan_fills: dict[str, int] = {}
    written: WrittenEvents | None = None


class Stored(Struct, frozen=True):
    """A stored result. `files`: of an output; `merged`: their summaries; `written`: their expected
    events, by dataset; `aside`: not requested by the last run."""

    result: ResultDigest
    pieces: tuple[Piece, ...] = ()
    files: tuple[StoredFile, ...] = ()
    merged: tuple[dict[str, Any], ...] = ()
    written: dict[int, WrittenEvents] = {}
    aside: bool = False

    @property
    def digest(self) -> str:
        """Digest of all inputs of the result."""
        return self.result.digest

    @property
    def all_files(self) -> list[StoredFile]:
        """All files of the result."""
        return [*self.files, *(file for piece in self.pieces for file in piece.files)]

    def of(self, parts: Iterable[str]) -> list[Piece]:
        """Pieces for these parts of the input. Raises KeyError."""
        by_part = {piece.part: piece for piece in self.pieces}
        return [by_part[part] for part in parts]


class Store(Struct, frozen=True):
    """Stored results of a run directory. `inputs`: parts of the input, by name."""

    results: tuple[Stored, ...] = ()
    inputs: dict[str, InputPart] = {}
    form: int = _FORM

    @classmethod
    def read(cls, folder: RunDirectory) -> Store:
        """Reads the index; empty if missing or damaged."""
        try:
            if folder.stored.is_symlink():
                return cls()
            found = msgspec.json.decode(read_regular(folder.stored / _INDEX), type=cls)
        except (OSError, ValueError):
            return cls()
        return found if found.form == _FORM else cls()

    def good(self, folder: RunDirectory) -> dict[str, Stored]:
        """Stored results that are intact, by digest."""
        files = {file for stored in self.results for file in stored.all_files}
        is_good = {f: "/" not in f.name and f.is_as_written(folder) for f in files}
        found = {}
        for stored in self.results:
            pieces = tuple(
                piece
                for piece in stored.pieces
                if piece.part in self.inputs and all(is_good[file] for file in piece.files)
            )
            own = stored.files if all(is_good[file] for file in stored.files) else ()
            if stored.digest and (pieces or own):
                found[stored.digest] = replace(stored, pieces=pieces, files=own)
        return found

    @staticmethod
    def lost(run: RunResults, good: Mapping[str, Stored]) -> list[str]:
        """Names of results that a run keeps, but are no longer among the intact ones."""
        has = {digest: {piece.part for piece in s.pieces} for digest, s in good.items()}
        lost = {d for d, parts in run.parts.items() if not has.get(d, set()) >= {*parts}}
        lost |= {*run.kept} - has.keys()
        return [each.name for each in run.results if each.digest in lost]

    def write(self, folder: RunDirectory) -> None:
        """Writes the index, then removes files that it does not name."""
        write_json(folder.stored / _INDEX, msgspec.to_builtins(self), indent=None)
        named = {_INDEX, *(file.name for stored in self.results for file in stored.all_files)}
        for entry in os.listdir(folder.stored):
            if entry not in named:
                remove(folder.stored / entry)

    def after(self, now: Sequence[Stored], parts: Iterable[InputPart]) -> Store:
        """Store after a run over `parts` of the input: results `now` replace the old ones; results
        it did not request are put aside once, then dropped."""
        wanted = {stored.digest for stored in now}
        others = (s for s in self.results if s.digest not in wanted and not s.aside)
        results = (*now, *(replace(stored, aside=True) for stored in others))
        named = {piece.part for stored in results for piece in stored.pieces}
        inputs = self.inputs | {part.name: part for part in parts}
        return Store(results, {name: inputs[name] for name in sorted(named)})


_INDEX = "index.json"


def store_bytes(folder: RunDirectory, name: str, data: bytes) -> StoredFile:
    """Stores sums; their checksum reveals damage on disk."""
    folder.stored.mkdir(exist_ok=True)
    write_bytes(folder.stored / name, data, durable=False)
    return StoredFile(name, len(data), _core.crc32c(data, 0))


def store_output(folder: RunDirectory, file: Path, digest: str) -> StoredFile | None:
    """Stores an output file as a hard link; None where the file system has none."""
    place = str(file.relative_to(folder.output))
    name = hashlib.sha256(f"{digest} {place}".encode()).hexdigest()[:24] + ".output"
    folder.stored.mkdir(exist_ok=True)
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(folder.stored / name)
        os.link(file, folder.stored / name, follow_symlinks=False)
        found = (folder.stored / name).stat()
    except OSError:
        return None
    return StoredFile(name, found.st_size, 0, place, found.st_mtime_ns)


def store_fragments(
    folder: RunDirectory, name: str, parts: Sequence[OutputPart]
) -> list[StoredFile]:
    """Stores fragments of an output: small ones as one file, others as hard links where the file
    system has them."""
    folder.stored.mkdir(exist_ok=True)
    paths = [folder.path / part.file for part in parts]
    if sum(part.n_bytes for part in parts) < _MOST_JOINED_BYTES:
        return [join_fragments(folder, f"{name}.fragment", map(str, paths))]
    files = []
    for number, (path, part) in enumerate(zip(paths, parts, strict=True)):
        place = folder.stored / f"{name}.{number}.fragment"
        try:
            place.unlink(missing_ok=True)
            os.link(path, place, follow_symlinks=False)
        except OSError:
            return [join_fragments(folder, f"{name}.fragment", map(str, paths))]
        mtime_ns = place.stat().st_mtime_ns
        files.append(StoredFile(place.name, part.n_bytes, part.checksum, "", mtime_ns))
    return files


def join_fragments(
    folder: RunDirectory, name: str, fragments: Iterable[str], files: Mapping[int, int] = {}
) -> StoredFile:
    """Stores fragments of an output as one. `files`: new numbers of input files."""
    place = folder.stored / name
    n_bytes, checksum = _core.join_fragments(list(fragments), str(place), dict(files))
    return StoredFile(name, n_bytes, checksum, "", place.stat().st_mtime_ns)


def take_output(folder: RunDirectory, file: StoredFile) -> None:
    """Links a stored file back into the outputs. Raises OSError."""
    final = folder.output / file.place
    final.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(final)
    os.link(folder.stored / file.name, final, follow_symlinks=False)
    sync(final.parent)


def summed_flow(parts: Sequence[Sequence[CutCount]]) -> list[CutCount] | None:
    """Exact sums of the counts of a path; None if not all have counted the same."""
    same = {tuple((c.after, c.weights is None) for c in part) for part in parts}
    return [_summed(c) for c in zip(*parts, strict=True)] if len(same) == 1 else None


def summed_counts(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Sum of numbers, by name."""
    total = Counter[str]()
    for part in parts:
        total.update(part)
    return dict(total)


def _summed(counts: Sequence[CutCount]) -> CutCount:
    """Exact sum of the counts of one filter."""
    weights = None
    if counts[0].weights is not None:
        total = _core.ExactSums(2, 1)
        for count in counts:
            words = np.array(count.weights, dtype=np.uint64)
            total.merge(_core.ExactSums.unpacked(words, 2, 1))
        weights = total.packed().tolist()
    n_events, n_missing = sum(c.n_events for c in counts), sum(c.n_missing for c in counts)
    return CutCount(counts[0].after, n_events, weights, n_missing)


class Counts(Struct, frozen=True):
    """Cutflows of a commit, or kept from an earlier run."""

    dataset: int
    cutflow: Mapping[str, list[CutCount]]
    n_units: int = 0
    is_kept: bool = False


class KeptResults(Struct, frozen=True):
    """Results kept from earlier runs. `run`: record of this run; `inputs`: stored parts of the
    input, by name; `datasets`: dataset number of each."""

    run: RunResults = RunResults()
    kept: tuple[Stored, ...] = ()
    inputs: dict[str, InputPart] = {}
    datasets: dict[str, int] = {}

    @classmethod
    def read(cls, folder: RunDirectory, datasets: Sequence[int] = ()) -> KeptResults:
        """Kept results of a run. `datasets`: dataset number of each file; empty: the job has
        none."""
        run = RunResults.read(folder)
        if not (run.kept or run.parts):
            return cls(run)
        store = Store.read(folder)
        stored = {each.digest: each for each in store.results}
        number = dict(zip(run.files, datasets, strict=False))
        of_parts = {name: number.get(p.ranges[0][0], 0) for name, p in store.inputs.items()}
        try:
            found = [
                replace(s, pieces=tuple(s.of(run.parts.get(digest, ()))))
                for digest in dict.fromkeys([*run.kept, *run.parts])
                if (s := stored.get(digest))
            ]
        except KeyError:
            return cls(run)
        return cls(run, tuple(found), store.inputs, of_parts)

    def _pieces(self) -> Iterator[Piece]:
        return (piece for stored in self.kept for piece in stored.pieces)

    def counts(self, ledger: Sequence[Commit]) -> Sequence[Commit | Counts]:
        """Cutflows of the run's paths: from commits, or from stored pieces for kept ones."""
        if not self.kept:
            return ledger
        order = {r.label: n for n, r in enumerate(self.run.results) if r.kind == CUTFLOW}
        mine = {path for path in order if not self.run.keeps(CUTFLOW, path)}
        own = [
            Counts(c.dataset, {p: n for p, n in flows.items() if plain_label(p) in mine})
            for c, flows in ((commit, commit.cutflow or {}) for commit in ledger)
        ]
        before = [
            Counts(self.datasets.get(piece.part, 0), piece.cutflow, 0, True)
            for piece in self._pieces()
            if piece.cutflow
        ]
        flows = {p for c in (*own, *before) for p in c.cutflow}
        paths = [p for p in flows if plain_label(p) in order]
        paths.sort(key=lambda p: ("@" in p, order[plain_label(p)], p))
        return [replace(c, cutflow={p: c.cutflow[p] for p in paths if p in c.cutflow}) for c in
                (*own, *before)]  # fmt: skip

    def written(self, label: str) -> dict[int, WrittenEvents] | None:
        """Expected events of a kept output, by dataset; None if it is not kept."""
        if not self.run.keeps(OUTPUT, label):
            return None
        own = (s for s in self.kept if s.result.key == (OUTPUT, label))
        return next((stored.written for stored in own), None)

    def has_output(self, label: str) -> bool:
        """Whether the run has an output named in a ledger: it may be from the run before."""
        return not self.kept or any(r.key == (OUTPUT, label) for r in self.run.results)

    def parts_of(self, result: ResultDigest) -> list[InputPart]:
        """Parts of the input whose events earlier runs have processed for a result."""
        own = (stored.pieces for stored in self.kept if stored.digest == result.digest)
        return [self.inputs[piece.part] for piece in next(own, ())]

    def nan_fills(self, found: Mapping[str, int]) -> dict[str, int]:
        """Number of NaN values filled, by histogram. `found`: in commits."""
        if not self.kept:
            return dict(found)
        total = {n: k for n, k in found.items() if not self.run.keeps(SUMS, plain_label(n))}
        return summed_counts([total, *(piece.nan_fills for piece in self._pieces())])
