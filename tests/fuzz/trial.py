"""One damaged file, in processes that may die of it: indexed, read, skimmed and merged."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import uproot

from forkrun import _core
from forkrun.errors import ForkrunError, InputError
from forkrun.formats.lcio import LCIO
from forkrun.index.model import RangeColumns
from tests.support.lcio_outputs import make_lcio

STEPS = ("index", "read", "select", "outputs", "merge", "join")
STEPS_BESIDE = ("beside", "carry", "copy")
"""Of files with more than the table of events, in which all of it is looked for."""
SANITIZED = "ASAN_OPTIONS" in os.environ
"""Under the address sanitizer, which takes terabytes of addresses, so that memory has no limit."""
_MOST_BYTES = 4 << 30  # of heap, as a helper process may have
_ORIGINS = "forkrun_origins"
"""An object beside the events of outputs that no input has."""
_WALL_BY_CPU = 30  # other work on the machine does not make a step hang
Note = Callable[[str, str, Any], None]
Digests = dict[str, str]  # of the values, by branch
SETTINGS = _core.ProcessorSettings(executor="serial", threads=1, concurrent_blocks=1, block_size=64)


@dataclass(frozen=True)
class Source:
    """An undamaged file with what is to be found in it."""

    path: Path
    ids: tuple[str, str, str]
    digests: Digests
    tree: str = "Events"
    beside: Digests = field(default_factory=dict)
    """Of the other tables, by path and branch; and the objects there are, as "/"."""

    @property
    def tables(self) -> list[str]:
        """Paths of the other tables."""
        return sorted({name.rpartition(":")[0] for name in self.beside} - {""})


@dataclass
class Outcome:
    """What became of each step. A step is "same", "differs", "unreadable", "refused" (by an
    InputError that names the file), "unnamed", "untyped", "signal N" or "hang". `words`: the
    error, or the branches that differ."""

    steps: dict[str, str] = field(default_factory=dict)
    words: dict[str, Any] = field(default_factory=dict)
    peak_bytes: int = 0
    wall_s: float = 0.0


def try_file(source: Source, damaged: Path, limit_s: float) -> Outcome:
    """Indexing, reading and skimming follow each other as in a job: what is not indexed is not
    read. Merging stands alone. `limit_s`: of CPU time, for each file."""
    return next(try_files([(source, lambda: damaged)], limit_s))


def try_files(
    files: Sequence[tuple[Source, Callable[[], Path]]], limit_s: float
) -> Iterator[Outcome]:
    """One after another in a fork of this process, and those behind one that kills it in the next:
    a fork costs more than a small file. Each is made there, by what stands beside its source."""
    with tempfile.TemporaryDirectory(prefix="forkrun-fuzz-") as folder:
        n_done = 0
        while n_done < len(files):
            for outcome in _fork(files[n_done:], Path(folder), limit_s):
                n_done += 1
                yield outcome


def _try_each(
    files: Sequence[tuple[Source, Callable[[], Path]]], folder: Path, limit_s: float, note: Note
) -> None:
    for source, make in files:
        signal.setitimer(signal.ITIMER_PROF, limit_s)
        signal.setitimer(signal.ITIMER_REAL, _WALL_BY_CPU * limit_s)
        damaged, begin_s = make(), time.monotonic()
        is_lcio = source.path.suffix == LCIO.suffix
        for body in (_as_lcio,) if is_lcio else (_as_job, _as_merge, _as_join):
            body(source, damaged, folder, note)
        peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        note("", "done", [peak_bytes, time.monotonic() - begin_s])
        for left in folder.iterdir():
            left.unlink()


def _as_job(source: Source, damaged: Path, folder: Path, note: Note) -> None:
    index: dict[str, Any] = {}

    def read_index() -> Digests | None:
        index.update(_core.index_tree(str(damaged), source.tree, *source.ids))
        return None

    if source.beside:
        _step("beside", lambda: digests_of_tables(damaged, source.tables), source, damaged, note)
    if not _step("index", read_index, source, damaged, note):
        return
    _step("read", lambda: digests_of(damaged, index, source.tree), source, damaged, note)
    selection = _Selection(source, damaged, index, folder / "output.root")
    if _step("select", selection.select, source, damaged, note):
        _step("outputs", selection.make_outputs, source, damaged, note)
        if source.beside:
            _step("carry", selection.carry, source, damaged, note)


def _as_lcio(source: Source, damaged: Path, folder: Path, note: Note) -> None:
    """The same steps; outputs are copied, and made without the first collection."""
    if not _step("index", lambda: _index_of_lcio(damaged), source, damaged, note):
        return
    _step("read", lambda: digests_of_lcio(damaged), source, damaged, note)
    output = folder / "output.slcio"

    def make_outputs() -> None:
        index = _core.OpenLcio(str(damaged)).index()
        first = next((name for name, _ in index["branches"] if "." in name), "").partition(".")[0]
        make_lcio(
            damaged, output, [n for n, _ in index["branches"] if n.partition(".")[0] != first]
        )

    def merge(verify: bool) -> Digests:
        LCIO.merge([str(damaged)], str(output), verify=verify)
        try:
            return digests_of_lcio(output)
        except ForkrunError as error:
            raise _UnreadableError(str(error)) from error

    _step("outputs", make_outputs, source, damaged, note)
    _step("merge", lambda: merge(True), source, damaged, note)
    _step("copy", lambda: merge(False), source, damaged, note)


def _index_of_lcio(file: Path) -> None:
    _core.OpenLcio(str(file)).index()


def digests_of_lcio(file: Path) -> Digests:
    """Digests of the values of all columns, and the numbers of the run headers."""
    opened = _core.OpenLcio(str(file))
    columns = opened.read([name for name, _ in opened.index()["branches"]])
    digests = {name: _digest(column) for name, column in columns.items()}
    return digests | {"/": str(sorted(run for run, *_ in opened.runs()))}


def _as_merge(source: Source, damaged: Path, folder: Path, note: Note) -> None:
    """Baskets are copied as they are, after a check of what they hold."""
    _merged("merge", source, damaged, folder, note, verify=True, recluster="never")
    if source.beside:
        _merged("copy", source, damaged, folder, note)


def _as_join(source: Source, damaged: Path, folder: Path, note: Note) -> None:
    """Their entries are written anew."""
    _merged("join", source, damaged, folder, note, recluster="always")


def _merged(
    step: str, source: Source, damaged: Path, folder: Path, note: Note, **options: Any
) -> None:
    merged = folder / f"{step}.root"

    def merge() -> Digests:
        _core.merge_trees([str(damaged)], str(merged), **options)
        try:
            index = _core.index_tree(str(merged), source.tree, *source.ids)
            found = digests_of(merged, index, source.tree)
            return found | (digests_beside(merged, source.tables) if source.beside else {})
        except ForkrunError as error:
            raise _UnreadableError(str(error)) from error

    _step(step, merge, source, damaged, note)


class _UnreadableError(Exception):
    """What was merged without an error cannot be read."""


def _step(
    name: str, do: Callable[[], Digests | None], source: Source, damaged: Path, note: Note
) -> bool:
    """Whether it went well."""
    note(name, "begun", None)
    try:
        found = do()
    except _UnreadableError as error:
        note(name, "unreadable", str(error))
    except InputError as error:
        note(name, "refused" if str(damaged) in str(error) else "unnamed", str(error))
    except Exception as error:
        note(name, "untyped", f"{type(error).__name__}: {error}")
    else:
        differing = differences(_expected(name, source), found) if found is not None else []
        note(name, "differs" if differing else "same", differing)
        return True
    return False


def _expected(step: str, source: Source) -> Digests:
    if step == "beside":
        return {name: digest for name, digest in source.beside.items() if name != "/"}
    if step == "carry":
        return source.beside
    return source.digests | (source.beside if step in ("merge", "join", "copy") else {})


def differences(expected: Digests, found: Digests) -> list[str]:
    """Branches that are missing, new, or have other values."""
    names = expected.keys() | found.keys()
    return sorted(n for n in names if expected.get(n) != found.get(n))


def digests_of(file: Path, index: dict[str, Any], tree: str = "Events") -> Digests:
    """Digests of the values of all columns that can be read."""
    there = [*index["branches"], *index["members"]]
    names = [name for name, kind, _ in there if not kind.startswith("other:")]
    columns = _core.read_columns(str(file), tree, names)
    return {name: _digest(column) for name, column in columns.items()}


def digests_beside(file: Path, tables: Sequence[str]) -> Digests:
    """Digests of the values of these tables, and which objects the file, which is not damaged, has
    for uproot."""
    with uproot.open(file) as opened:
        names = opened.classnames(cycle=False)
    names.pop(_ORIGINS, None)
    objects = " ".join(f"{name}:{names[name]}" for name in sorted(names))
    return {**digests_of_tables(file, tables), "/": objects}


def digests_of_tables(file: Path, tables: Sequence[str]) -> Digests:
    """Digests of the values of these tables."""
    digests = {}
    for tree in tables:
        index = _core.index_tree(str(file), tree, "", "", "")
        if index["absent"]:
            raise InputError(index["absent"])
        digests.update({f"{tree}:{n}": d for n, d in digests_of(file, index, tree).items()})
    return digests


def _digest(column: Any) -> str:
    parts = column if isinstance(column, tuple) else (column,)
    digest = hashlib.blake2b(digest_size=8)
    for part in map(np.asarray, parts):
        digest.update(str(part.dtype).encode() + np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


class _Selection:
    """All events and branches through the core, as a child selects them and a merge takes them."""

    def __init__(self, source: Source, damaged: Path, index: dict[str, Any], out: Path) -> None:
        branches = [(name, kind) for name, kind, _ in index["branches"]]
        self._columns = [(n, kind) for n, kind in branches if not kind.startswith("other:")]
        self._names = [name for name, _ in branches]
        self._index, self._out, self._source, self._damaged = index, out, source, damaged
        events = _core.EventSource(
            files=[str(damaged)], tree=source.tree, ids=source.ids, columns=self._columns,
            clusters=[index["clusters"]],
        )  # fmt: skip
        self._tree = _core.TreeSource(events)
        self._fragments: list[list[str]] = []

    def select(self) -> None:
        builder = _core.ScheduleBuilder(self._columns)
        builder.add_output("all", [], self._names, [])
        schedule = builder.compile()
        schedule.begin_job()
        processor = _core.Processor(schedule, self._tree, SETTINGS)
        ranges = RangeColumns.from_bytes(self._index["ranges"])
        for number, (run, lumi, first, last, _) in enumerate(ranges):
            fragment = f"{self._out}.{number}"
            self._fragments.append([fragment])
            processor.process(number, run, lumi, [(0, first, last)], {"all": fragment})
        processor.finish()
        schedule.end_job()

    def make_outputs(self) -> Digests:
        content = _core.OutputContent(
            branches=self._names, compression="zstd:1", tree=self._source.tree
        )
        output = _core.OutputToMake(
            fragments=list(enumerate(self._fragments)),
            files=[(str(self._out), [])],
            content=content,
            n_events=self._index["n_entries"],
        )
        is_ntuple = self._source.path.name.startswith("rntuple-")
        form = "rntuple" if is_ntuple else "ttree"
        _core.make_outputs([output], self._tree, verify=True, format=form)
        try:
            index = _core.index_tree(str(self._out), self._source.tree, *self._source.ids)
            return digests_of(self._out, index, self._source.tree)
        except ForkrunError as error:
            raise _UnreadableError(str(error)) from error

    def carry(self) -> Digests:
        """What goes with the events, beside them in the output."""
        _core.carry_objects([str(self._damaged)], str(self._out), [self._source.tree])
        return digests_beside(self._out, self._source.tables)


# --- processes ------------------------------------------------------------------------------------


def _fork(
    files: Sequence[tuple[Source, Callable[[], Path]]], folder: Path, limit_s: float
) -> Iterator[Outcome]:
    """Of those files that came through, and of the one that the process died of."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        _run_child(lambda note: _try_each(files, folder, limit_s, note), writer)
    os.close(writer)
    outcome, last = Outcome(), ""
    with os.fdopen(reader, encoding="utf-8") as notes:
        for line in notes:
            step, result, words = json.loads(line)
            if not step:
                outcome.peak_bytes, outcome.wall_s = words
                yield outcome
                outcome, last = Outcome(), ""
            else:
                last = step
                outcome.steps[step], outcome.words[step] = result, words
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status:  # ROOT's handler of a crash ends with 128 and the signal
        number = -status if status < 0 else status - 128
        late = (signal.SIGALRM, signal.SIGPROF)
        outcome.steps[last] = "hang" if number in late else f"signal {number}"
        yield outcome


def _run_child(body: Callable[[Note], None], writer: int) -> None:
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        _core.root_version()
        for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT):
            signal.signal(number, signal.SIG_DFL)
        if not SANITIZED:
            resource.setrlimit(resource.RLIMIT_DATA, (_MOST_BYTES, _MOST_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        def note(step: str, result: str, words: Any) -> None:
            os.write(writer, json.dumps([step, result, words]).encode() + b"\n")

        body(note)
        os._exit(0)
    except BaseException:
        os._exit(1)
