"""A trace of all processes in Perfetto's own format (perfetto_trace.proto): the parent's phases,
the commits of each child, the calls of modules on its threads, and the memory of each process."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path

from msgspec import Struct

from forkrun.base.regular_file import read_regular
from forkrun.monitoring.records import RunRecords
from forkrun.monitoring.report.page.series import parent_bars
from forkrun.monitoring.timing.record import KINDS, Call, calls_of, first_call_ns, read_courses
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit


def varint(value: int) -> bytes:
    """Encodes a number of 64 bits in groups of seven, the lowest first."""
    value &= (1 << 64) - 1
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def number(field: int, value: int) -> bytes:
    """Encodes a field of type integer, enum or bool."""
    return varint(field << 3) + varint(value)


def message(field: int, *parts: bytes) -> bytes:
    """Encodes a nested message; parts: its fields."""
    content = b"".join(parts)
    return varint(field << 3 | 2) + varint(len(content)) + content


def text(field: int, value: str) -> bytes:
    """Encodes a field of type string."""
    return message(field, value.encode("utf-8", "replace"))


def real(field: int, value: float) -> bytes:
    """Encodes a field of type double."""
    return varint(field << 3 | 1) + struct.pack("<d", value)


# Field numbers, by message.
_PACKET = 1
_TIMESTAMP, _SEQUENCE, _EVENT, _INTERNED, _FLAGS, _TRACK = 8, 10, 11, 12, 13, 60
_UUID, _TRACK_NAME, _PROCESS, _THREAD, _PARENT, _COUNTER = 1, 2, 3, 4, 5, 8
_PID, _PROCESS_NAME, _TID, _THREAD_NAME = 1, 6, 2, 5
_ANNOTATIONS, _TYPE, _NAME_IID, _TRACK_UUID, _VALUE, _REAL_VALUE = 4, 9, 10, 11, 30, 44
_EVENT_NAMES, _ANNOTATION_NAMES = 2, 3
_ANNOTATION_IID, _ANNOTATION_INT = 1, 4
_UNIT, _COUNT_UNIT, _BYTES = 3, 2, 3
_BEGIN, _END, _COUNT = 1, 2, 4
_CLEARED, _NEEDED = 1, 2

_SEQUENCE_ID = 1
_PARENT_PROCESS = 1
"""Number of the parent's process in the trace; children are 2, 3, …"""
_COMMITS, _MEMORY, _KINDS, _FIRST_THREAD = 1, 2, 8, 16
"""Tracks of a process."""


class _Slice(Struct, frozen=True):
    """Times in ns since the job's start."""

    track: int
    name: str
    start_ns: int
    end_ns: int
    numbers: dict[str, int] = {}


def perfetto_trace(run: Path, records: RunRecords) -> bytes:
    """Trace of all sessions. Calls of modules are included if the job ran with --trace."""
    start_s = records.start_s
    writer = _Writer()
    writer.process(_PARENT_PROCESS, "parent")
    for child in sorted({line.child for line in records.ledger}):
        writer.process(_of_child(child), f"child {child}")
        writer.track(_of_child(child), _COMMITS, "commits")
    writer.track(_PARENT_PROCESS, _COMMITS, "phases")
    writer.slices(_parent(records, start_s))
    writer.slices(_commit(line, start_s) for line in records.ledger)
    _write_calls(writer, run, records, start_s)
    _write_kinds(writer, run, start_s)
    _write_memory(writer, records, start_s)
    return writer.content()


def _of_child(child: int | None) -> int:
    return _PARENT_PROCESS if child is None else _PARENT_PROCESS + 1 + child


def _uuid(process: int, track: int) -> int:
    return process << 32 | track


def _ns(time_s: float) -> int:
    return max(round(time_s * 1e9), 0)


def _parent(records: RunRecords, start_s: float) -> Iterator[_Slice]:
    track = _uuid(_PARENT_PROCESS, _COMMITS)
    for bar in parent_bars(records, start_s):
        yield _Slice(track, bar["what"], _ns(bar["start_s"]), _ns(bar["end_s"]))


def _commit(line: Commit, start_s: float) -> _Slice:
    numbers = {"unit": line.unit, "run": line.run, "lumi": line.lumi, "events": line.n_events}
    begin_ns, end_ns = _ns(line.start_s - start_s), _ns(line.end_s - start_s)
    return _Slice(_uuid(_of_child(line.child), _COMMITS), "unit", begin_ns, end_ns, numbers)


def _write_calls(writer: _Writer, run: Path, records: RunRecords, start_s: float) -> None:
    """Writes calls of modules, loading and committing, each on its thread."""
    folder, threads = RunDirectory(run), set[int]()
    clocks_s = {course.child: course.clock_s for course in read_courses(folder)}
    otherwise_s = _clock_by_commits(folder, records)
    for call in _all_calls(folder):
        process, thread = _of_child(call.child), _FIRST_THREAD + call.thread
        track = _uuid(process, thread)
        if track not in threads:
            threads.add(track)
            writer.thread(process, thread, f"thread {call.thread}")
        clock_s = clocks_s.get(call.child, otherwise_s)
        writer.slices([_call(call, track, round((clock_s - start_s) * 1e9))])


def _clock_by_commits(folder: RunDirectory, records: RunRecords) -> float:
    """Clock offset of calls in children that did not note it: from the first commit, right within
    some milliseconds [s since the epoch]."""
    first_ns = min(map(first_call_ns, folder.child_traces()), default=0)
    return min((line.start_s for line in records.ledger), default=0.0) - first_ns * 1e-9


def _all_calls(folder: RunDirectory) -> Iterator[Call]:
    """Yields nothing if the job did not trace, or no child has ended yet."""
    timings = folder.child_timings()
    if not timings:
        return
    modules = json.loads(read_regular(timings[0]))["modules"]
    labels = [str(module["label"]) for module in modules]
    for file in folder.child_traces():
        yield from calls_of(file, labels, others=True)


def _call(call: Call, track: int, offset_ns: int) -> _Slice:
    numbers = {"run": call.run, "lumi": call.lumi, "block": call.block, "lane": call.lane}
    begin_ns, end_ns = call.start_ns + offset_ns, call.end_ns + offset_ns
    return _Slice(track, call.label, max(begin_ns, 0), max(end_ns, 0), numbers)


def _write_kinds(writer: _Writer, run: Path, start_s: float) -> None:
    """Writes activities of each child's threads, also of jobs without trace: counters of the
    threads in each activity against time."""
    for course in read_courses(RunDirectory(run)):
        process = _of_child(course.child)
        for n, kind in enumerate(KINDS):
            track = _uuid(process, _KINDS + n)
            writer.counter(process, _KINDS + n, f"threads {kind}", _COUNT_UNIT)
            of_threads = [getattr(thread, kind) for thread in course.threads]
            for piece, values in enumerate(zip_longest(*of_threads, fillvalue=0)):
                time_ns = _ns(course.start_s + piece * course.piece_s - start_s)
                writer.share(track, time_ns, sum(values) / course.piece_s * 1e-6)


def _write_memory(writer: _Writer, records: RunRecords, start_s: float) -> None:
    known: set[int] = set()
    for sample in records.samples:
        process = _of_child(sample.child)
        for offset, name, value in (
            (0, "private memory", sample.private_bytes),
            (1, "PSS", sample.pss_bytes),
        ):
            track = _uuid(process, _MEMORY + offset)
            if track not in known:
                known.add(track)
                writer.counter(process, _MEMORY + offset, name)
            writer.count(track, _ns(sample.time_s - start_s), value)


class _Writer:
    """Packets of one sequence. Each name is written once, and is a number afterwards."""

    def __init__(self) -> None:
        self._packets: list[bytes] = []
        self._names: dict[tuple[int, str], int] = {}
        self._add(number(_FLAGS, _CLEARED))

    def content(self) -> bytes:
        """The whole trace."""
        return b"".join(self._packets)

    def process(self, process: int, name: str) -> None:
        described = message(_PROCESS, number(_PID, process), text(_PROCESS_NAME, name))
        self._describe(number(_UUID, _uuid(process, 0)), described)

    def track(self, process: int, track: int, name: str) -> None:
        self._describe(
            number(_UUID, _uuid(process, track)),
            text(_TRACK_NAME, name),
            number(_PARENT, _uuid(process, 0)),
        )

    def thread(self, process: int, thread: int, name: str) -> None:
        described = message(
            _THREAD, number(_PID, process), number(_TID, thread), text(_THREAD_NAME, name)
        )
        self._describe(number(_UUID, _uuid(process, thread)), described)

    def counter(self, process: int, track: int, name: str, unit: int = _BYTES) -> None:
        self._describe(
            number(_UUID, _uuid(process, track)),
            text(_TRACK_NAME, name),
            number(_PARENT, _uuid(process, 0)),
            message(_COUNTER, number(_UNIT, unit)),
        )

    def slices(self, slices: Iterable[_Slice]) -> None:
        """Writes the begin and the end of each slice."""
        for each in slices:
            new, name = self._interned(_EVENT_NAMES, each.name)
            numbers = [self._number(new, *pair) for pair in each.numbers.items()]
            begin = message(
                _EVENT, number(_TYPE, _BEGIN), number(_TRACK_UUID, each.track),
                number(_NAME_IID, name), *numbers,
            )  # fmt: skip
            interned = [message(_INTERNED, *new)] if new else []
            self._add(number(_TIMESTAMP, each.start_ns), begin, *interned, number(_FLAGS, _NEEDED))
            end = message(_EVENT, number(_TYPE, _END), number(_TRACK_UUID, each.track))
            self._add(number(_TIMESTAMP, each.end_ns), end)

    def count(self, track: int, time_ns: int, value: int) -> None:
        event = (number(_TYPE, _COUNT), number(_TRACK_UUID, track), number(_VALUE, value))
        self._add(number(_TIMESTAMP, time_ns), message(_EVENT, *event))

    def share(self, track: int, time_ns: int, value: float) -> None:
        event = (number(_TYPE, _COUNT), number(_TRACK_UUID, track), real(_REAL_VALUE, value))
        self._add(number(_TIMESTAMP, time_ns), message(_EVENT, *event))

    def _number(self, new: list[bytes], name: str, value: int) -> bytes:
        more, iid = self._interned(_ANNOTATION_NAMES, name)
        new += more
        return message(_ANNOTATIONS, number(_ANNOTATION_IID, iid), number(_ANNOTATION_INT, value))

    def _interned(self, kind: int, name: str) -> tuple[list[bytes], int]:
        """Packets that define the name, if it is new, and its number."""
        known = self._names.get((kind, name))
        if known is not None:
            return [], known
        iid = len(self._names) + 1
        self._names[kind, name] = iid
        return [message(kind, number(1, iid), text(2, name))], iid

    def _describe(self, *parts: bytes) -> None:
        self._add(message(_TRACK, *parts))

    def _add(self, *parts: bytes) -> None:
        self._packets.append(message(_PACKET, *parts, number(_SEQUENCE, _SEQUENCE_ID)))
