"""Writes files of LCIO: records of other files as they are, and the records that say where each
event is, as LCIO itself writes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise, zip_longest
from typing import Any, Self

import numpy as np
from msgspec import Struct

from forkrun import _core
from forkrun.errors import InputError, OutputError
from forkrun.formats.format import digest_of_ids
from forkrun.formats.lcio_bytes import access_record, index_block, record
from forkrun.formats.lcio_columns import PARAMETERS, RUN_HEADER

_CHUNK = 8 << 20
_RUN = -1
"""In the place of the number of an event: a run header."""


class InputRecords(Struct, frozen=True):
    """Where the records of a file are. `run`, `event`: (n,) of its events; `places`: (n, 2) first
    byte of each and the one behind its last; `runs`: number, first byte and end of each header."""

    opened: _core.OpenLcio
    run: Any
    event: Any
    places: Any
    runs: Sequence[tuple[int, int, int]]
    collections: frozenset[str]
    """Those that are columns."""
    parameters: frozenset[str]
    """Those of events."""

    @classmethod
    def of(cls, path: str) -> InputRecords:
        """Those of a file. Raises InputError."""
        opened = _core.OpenLcio(path)
        found = opened.index()
        names = [name.partition(".")[::2] for name, _ in found["branches"]]
        return cls(
            opened,
            found["run"],
            found["event"],
            found["places"],
            found["runs"],
            frozenset(
                first for first, rest in names if rest and first not in (PARAMETERS, RUN_HEADER)
            ),
            frozenset(rest for first, rest in names if first == PARAMETERS),
        )

    @property
    def entries(self) -> Any:
        """(n,) numbers of all events."""
        return np.arange(len(self.run))

    @property
    def digest(self) -> _core.EventDigest:
        """Digest of the ids of all events, a run as one lumi."""
        return digest_of_ids(self.run, np.ones(len(self.run)), self.event)

    def headers_of(self, entries: Any) -> Any:
        """(n,) numbers, in `runs`, of the header that each event has: the last of its run before
        it, else the first; -1: none."""
        found = np.full(len(entries), -1)
        numbers: dict[int, list[int]] = {}
        for number, (run, *_) in enumerate(self.runs):
            numbers.setdefault(run, []).append(number)
        for run in np.unique(self.run[entries]).tolist():
            if own := numbers.get(run):
                (of_run,) = np.nonzero(self.run[entries] == run)
                begins = [self.runs[number][1] for number in own]
                before = np.searchsorted(begins, self.places[entries[of_run], 0])
                found[of_run] = np.array(own)[np.maximum(before - 1, 0)]
        return found

    def header(self, number: int) -> tuple[int, bytes]:
        """A run, and the record of its header. Raises InputError."""
        run, place, end = self.runs[number]
        return run, self.opened.stored(place, end)

    def check(self, entries: Any, n_threads: int = 1) -> None:
        """Unpacks the records of these events. Raises InputError if one is damaged."""
        self.opened.check(entries.tolist(), n_threads)


class RecordWriter:
    """Writes a file. A run header is written before the first event of its run, and again where
    later events have another one for it."""

    def __init__(self, path: str) -> None:
        self._begin(path, "wb")

    def _begin(self, path: str, mode: str) -> None:
        self.path = path
        with _writing(path):
            self._file = open(path, mode)  # noqa: SIM115
        self._n_bytes = 0
        self._headers: dict[int, bytes] = {}
        self._runs: dict[int, int] = {}
        self._events: list[tuple[Any, Any, Any]] = []
        self._written: set[tuple[int, bytes]] = set()

    @classmethod
    def continued(cls, of: InputRecords, path: str) -> RecordWriter:
        """Goes on behind the last record of a file that is closed. Raises InputError,
        OutputError."""
        ends = [*of.places[:, 1].tolist(), *(end for *_, end in of.runs), 0]
        writer = cls.__new__(cls)
        writer._begin(path, "r+b")
        with _writing(path):
            writer._n_bytes = writer._file.seek(max(ends))
            writer._file.truncate()
        writer._events = [(of.run, of.event, of.places[:, 0])]
        writer._written = {of.header(number) for number in range(len(of.runs))}
        writer._runs = {run: place for run, place, _ in of.runs}
        return writer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Closes what was left open by an error."""
        with suppress(OSError):
            self._file.close()

    def copy_all(self, of: InputRecords) -> None:
        """All of a file, in its order, with headers of runs that have no event. Raises InputError,
        OutputError."""
        entries = of.entries
        used = {*of.headers_of(entries).tolist()}
        begin = 0
        for number, (_, place, _) in enumerate(of.runs):
            if number not in used:
                end = int(np.searchsorted(of.places[:, 0], place))
                self.copy(of, entries[begin:end])
                self.add_header(*of.header(number))
                begin = end
        self.copy(of, entries[begin:])

    def copy_headers(self, of: InputRecords) -> None:
        """All run headers of a file that were not written. Raises InputError, OutputError."""
        for number in range(len(of.runs)):
            self.add_header(*of.header(number))

    def copy(self, of: InputRecords, entries: Any) -> None:
        """Events of a file. `entries`: (n,) their numbers in it. Raises InputError, OutputError."""
        headers = of.headers_of(entries)
        for first, last in _same(headers):
            self.add_header_of(of, int(headers[first]))
            self._copy_events(of, entries[first:last])

    def add_header_of(self, of: InputRecords, number: int) -> None:
        """The header with this number in a file, of events that follow; -1: they have none."""
        if number >= 0:
            self.add_run(*of.header(number))

    def add_run(self, run: int, header: bytes) -> None:
        """The record of a run of which events follow, unless it is the last of this run."""
        if self._headers.get(run) != header:
            self._headers[run] = header
            self._runs[run] = self._n_bytes
            self._written.add((run, header))
            self._write(header)

    def add_header(self, run: int, header: bytes) -> None:
        """The record of a run of which no event need follow, if it was not written."""
        if (run, header) not in self._written:
            self._runs.setdefault(run, self._n_bytes)
            self._written.add((run, header))
            self._write(header)

    def add_event(self, run: int, event: int, records: bytes) -> None:
        """The two records of an event. Raises OutputError."""
        self._events.append(([run], [event], [self._n_bytes]))
        self._write(records)

    def close(self) -> None:
        """Adds the records for random access. Raises OutputError."""
        part = self._n_bytes
        keys = self._index()
        self._write(record("LCIOIndex", index_block(*keys)))
        at_access = self._n_bytes
        first, last = [(keys[0][at], keys[1][at]) if keys[0] else (0, 0) for at in (0, -1)]
        counts = len(self._runs), len(keys[0]) - len(self._runs)
        self._write(access_record(first, last, counts, part, 0, 0, at_access))
        self._write(access_record(first, last, counts, 0, at_access, at_access, 0))
        with _writing(self.path):
            self._file.close()  # writes what is left

    def _copy_events(self, of: InputRecords, entries: Any) -> None:
        """Those that lie one after the other at once."""
        begins, ends = of.places[entries].T
        places = np.cumsum(ends - begins) - (ends - begins) + self._n_bytes
        self._events.append((of.run[entries], of.event[entries], places))
        n_before = np.cumsum(begins - np.append(0, ends[:-1]))  # rises where one is left out
        for first, last in _same(n_before):
            place, end = int(begins[first]), int(ends[last - 1])
            for part in range(place, end, _CHUNK):
                self._write(of.opened.stored(part, min(part + _CHUNK, end)))

    def _write(self, data: bytes) -> None:
        with _writing(self.path):
            self._file.write(data)
        self._n_bytes += len(data)

    def _index(self) -> tuple[list[int], list[int], list[int]]:
        """Run, number and place of run headers, then of events, each by their numbers."""
        nothing = np.empty(0, np.int64)
        parts = self._events or [(nothing, nothing, nothing)]
        run, event, place = (
            np.concatenate(each).astype(np.int64) for each in zip(*parts, strict=True)
        )
        order = np.lexsort((event, run))
        runs = sorted(self._runs.items())
        return (
            [number for number, _ in runs] + run[order].tolist(),
            [_RUN] * len(runs) + event[order].tolist(),
            [at for _, at in runs] + place[order].tolist(),
        )


def carry_headers(inputs: Sequence[str], output: str, n_bytes: Sequence[int]) -> None:
    """Adds the run headers of the inputs to a file that is closed, where it lacks them. `n_bytes`:
    what the inputs had when they were indexed; none: that is not compared. Raises InputError,
    OutputError."""
    missing: dict[tuple[int, bytes], None] = {}
    known = {*_headers_in(output, 0)}
    for path, indexed in zip_longest(inputs, n_bytes, fillvalue=0):
        missing.update(dict.fromkeys(_headers_in(str(path), indexed)))
    if wanted := [header for header in missing if header not in known]:
        with RecordWriter.continued(InputRecords.of(output), output) as writer:
            for header in wanted:
                writer.add_header(*header)
            writer.close()


def _headers_in(path: str, n_bytes: int) -> Iterator[tuple[int, bytes]]:
    opened = _core.OpenLcio(path)
    if n_bytes not in (0, opened.n_bytes):
        raise InputError(
            f"{path}: changed since it was indexed: its size is another; start the job again with"
            " files that stay as they are"
        )
    for run, place, end in opened.runs():
        yield run, opened.stored(place, end)


def _same(values: Any) -> list[tuple[int, int]]:
    """Begin and end of each stretch of equal values."""
    borders = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)]
    return [(first, last) for first, last in pairwise(borders) if first < last]


@contextmanager
def _writing(path: str) -> Iterator[None]:
    """Turns an error of the system into an OutputError."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from None
