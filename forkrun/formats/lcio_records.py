"""Writes files of LCIO: records of other files as they are, and the records that say where each
event is, as LCIO itself writes them."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.lib.recfunctions import repack_fields

from forkrun import _core
from forkrun.errors import InputError, OutputError

_VERSION = 2 << 16 | 23
"""Version of LCIO whose form the records have that are not copied."""
_RECORD, _BLOCK = 0xABADCAFE, 0xDEADBEEF
_CHUNK = 8 << 20
_RUN = -1
"""In the place of the number of an event: a run header."""
_HAS_ONE_RUN, _HAS_LONG_OFFSETS = 1, 2


class InputRecords(Struct, frozen=True):
    """Where the records of a file are. `run`, `event`: (n,) of its events; `places`: (n, 2) first
    byte of each and the one behind its last; `runs`: number, first byte and end of each header."""

    path: str
    run: Any
    event: Any
    places: Any
    runs: Sequence[tuple[int, int, int]]

    @classmethod
    def of(cls, path: str) -> InputRecords:
        """Those of a file. Raises InputError."""
        found = _core.OpenLcio(path).index()
        return cls(path, found["run"], found["event"], found["places"], found["runs"])


class RecordWriter:
    """Writes a file. A run header is written before the first event of its run, and again where the
    next file has another one for it."""

    def __init__(self, path: str) -> None:
        self.path = path
        with _writing(path):
            self._file = open(path, "wb")  # noqa: SIM115
        self._n_bytes = 0
        self._headers: dict[int, bytes] = {}
        self._runs: dict[int, int] = {}
        self._events: list[tuple[Any, Any, Any]] = []

    def copy(self, of: InputRecords, entries: Any) -> None:
        """Events of a file. `entries`: (n,) their numbers in it, n > 0. Raises InputError,
        OutputError."""
        run = of.run[entries]
        changes = (np.flatnonzero(np.diff(run)) + 1).tolist()
        with _opened(of.path) as descriptor:
            for first, last in zip([0, *changes], [*changes, len(run)], strict=True):
                self._add_run(of, descriptor, int(run[first]))
                self._add_events(of, descriptor, entries[first:last])

    def copy_runs(self, of: InputRecords) -> None:
        """Run headers of a file without its events. Raises InputError, OutputError."""
        with _opened(of.path) as descriptor:
            for run, *_ in of.runs:
                self._add_run(of, descriptor, run)

    def close(self) -> None:
        """Adds the records for random access. Raises OutputError."""
        part = self._n_bytes
        keys = self._index()
        self._write(_record("LCIOIndex", _index_block(*keys)))
        at_access = self._n_bytes
        first, last = [(keys[0][at], keys[1][at]) if keys[0] else (0, 0) for at in (0, -1)]
        counts = len(self._runs), len(keys[0]) - len(self._runs)
        self._write(_access_record(first, last, counts, part, 0, 0, at_access))
        self._write(_access_record(first, last, counts, 0, at_access, at_access, 0))
        with _writing(self.path):
            self._file.close()  # writes what is left

    def _add_run(self, of: InputRecords, descriptor: int, run: int) -> None:
        found = next(((place, end) for number, place, end in of.runs if number == run), None)
        if found is None:
            return
        header = os.pread(descriptor, found[1] - found[0], found[0])
        if self._headers.get(run) != header:
            self._headers[run] = header
            self._runs[run] = self._n_bytes
            self._write(header)

    def _add_events(self, of: InputRecords, descriptor: int, entries: Any) -> None:
        """Those that lie one after the other at once."""
        begins, ends = of.places[entries].T
        borders = (np.flatnonzero(begins[1:] != ends[:-1]) + 1).tolist()
        places = np.cumsum(ends - begins) - (ends - begins) + self._n_bytes
        self._events.append((of.run[entries], of.event[entries], places))
        for first, last in zip([0, *borders], [*borders, len(begins)], strict=True):
            self._copy(of.path, descriptor, int(begins[first]), int(ends[last - 1]))

    def _copy(self, path: str, descriptor: int, place: int, end: int) -> None:
        while place < end:
            part = os.pread(descriptor, min(_CHUNK, end - place), place)
            if not part:
                raise InputError(f"{path}: the file ends before byte {end}: it was shortened")
            self._write(part)
            place += len(part)

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


@contextmanager
def _opened(path: str) -> Iterator[int]:
    """Descriptor of an input file. Raises InputError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _writing(path: str) -> Iterator[None]:
    """Turns an error of the system into an OutputError."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from None


def _index_block(runs: Sequence[int], events: Sequence[int], places: Sequence[int]) -> bytes:
    """By what LCIO finds events: offsets count from the first record."""
    least, base = min(runs, default=0), min(places, default=0)
    offsets = [place - base for place in places]
    has_one = len(set(runs)) <= 1
    is_long = max(offsets, default=0) >= 1 << 31
    control = has_one * _HAS_ONE_RUN | is_long * _HAS_LONG_OFFSETS
    content = struct.pack(">Iiqi", control, least, base, len(runs))
    rows = np.zeros(
        len(runs), [("run", ">i4"), ("event", ">i4"), ("at", ">i8" if is_long else ">i4")]
    )
    rows["run"], rows["event"], rows["at"] = np.array(runs, np.int64) - least, events, offsets
    names = ["event", "at"] if has_one else ["run", "event", "at"]
    content += repack_fields(rows[names]).tobytes()
    return _block("LCIOIndex", content)


def _access_record(
    first: tuple[int, int],
    last: tuple[int, int],
    counts: tuple[int, int],
    *places: int,
) -> bytes:
    """`counts`: of run headers and events; `places`: of the index, of the previous and the next
    such record, and of the first."""
    is_in_order = 1
    numbers = struct.pack(">7i", *first, *last, *counts, is_in_order)
    content = numbers + struct.pack(">4qI", *places, 0xABCD0000 | 136)
    return _record("LCIORandomAccess", _block("LCIORandomAccess", content))


def _block(name: str, content: bytes) -> bytes:
    own = _padded(name)
    head = struct.pack(">4I", 16 + len(own) + len(content), _BLOCK, _VERSION, len(name))
    return head + own + content


def _record(name: str, data: bytes) -> bytes:
    own = _padded(name)
    head = struct.pack(">6I", 24 + len(own), _RECORD, 0, len(data), len(data), len(name))
    return head + own + data


def _padded(name: str) -> bytes:
    return name.encode() + bytes(-len(name) % 4)
