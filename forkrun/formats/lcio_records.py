"""Writes files of LCIO: records of other files as they are, and the records that say where each
event is, as LCIO itself writes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec import Struct

from forkrun import _core
from forkrun.errors import OutputError
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
        for first, last in _same(of.run[entries]):
            self.add_run_of(of, int(of.run[entries[first]]))
            self._copy_events(of, entries[first:last])

    def copy_runs(self, of: InputRecords) -> None:
        """Run headers of a file without its events. Raises InputError, OutputError."""
        for run, *_ in of.runs:
            self.add_run_of(of, run)

    def add_run_of(self, of: InputRecords, run: int) -> None:
        """The header of a run of a file, if it has one that was not written."""
        found = next(((place, end) for number, place, end in of.runs if number == run), None)
        if found:
            self.add_run(run, of.opened.stored(*found))

    def add_run(self, run: int, header: bytes) -> None:
        """The record of a run, if it was not written."""
        if self._headers.get(run) != header:
            self._headers[run] = header
            self._runs[run] = self._n_bytes
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
