"""Record of the calls of one child, and the time spent by its threads, in a bounded number of equal
pieces; and a trace of modules on threads across children, in the Chrome trace event format: open it
in ui.perfetto.dev."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import MsgspecError, Struct, to_builtins
from msgspec.json import Decoder
from msgspec.structs import asdict

from forkrun import _core
from forkrun.base.durable import open_new, published, write_json
from forkrun.base.regular_file import read_regular
from forkrun.errors import InputError
from forkrun.rundir.directory import RunDirectory, unused
from forkrun.rundir.ledger import CUTFLOW_LABEL

KINDS = ("reading", "unpacking", "processing", "committing")
"""The rest is waiting."""
AHEAD = "reads ahead"
_US = 1e-6


class SpentTime(Struct, frozen=True):
    """Time spent by threads [s]: `thread_s`, from the start of processing in their process to the
    end of its work, times its threads; the rest is waiting. Threads that read ahead are counted
    separately: `ahead_s`. `n_events`: committed by these processes."""

    reading_s: float = 0.0
    unpacking_s: float = 0.0
    processing_s: float = 0.0
    committing_s: float = 0.0
    ahead_s: float = 0.0
    thread_s: float = 0.0
    n_events: int = 0

    def shares(self) -> dict[str, float]:
        """Shares of `thread_s`, waiting last; empty without measurements."""
        if not self.thread_s:
            return {}
        shares = {
            "reading": self.reading_s / self.thread_s,
            "unpacking": self.unpacking_s / self.thread_s,
            "processing": self.processing_s / self.thread_s,
            "committing": self.committing_s / self.thread_s,
        }
        return {**shares, "waiting": max(1.0 - sum(shares.values()), 0.0)}


class ThreadCourse(Struct, frozen=True):
    """A thread: its time of each kind, by piece [us]."""

    name: str
    reading: tuple[int, ...]
    unpacking: tuple[int, ...]
    processing: tuple[int, ...]
    committing: tuple[int, ...]

    def seconds(self, kind: str) -> float:
        """Time of a kind [s]."""
        return math.fsum(getattr(self, kind)) * _US


class ChildCourses(Struct, frozen=True):
    """Threads of a child's process. `start_s`: of the first piece, since the epoch; `clock_s`: zero
    of the clock of its calls in a trace, since the epoch."""

    child: int
    clock_s: float
    start_s: float
    piece_s: float
    threads: tuple[ThreadCourse, ...]

    @classmethod
    def of(cls, activity: Mapping[str, Any], child: int) -> ChildCourses:
        """Courses from the core's record, which uses the machine's monotonic clock."""
        clock_s = time.time() - time.monotonic()
        threads = tuple(ThreadCourse(**thread) for thread in activity["threads"])
        start_s = clock_s + activity["start_s"]
        return cls(child, clock_s, start_s, activity["piece_s"], threads)

    def spent(self, wall_s: float, n_threads: int) -> SpentTime:
        """Sums over its threads, of `wall_s` each; the thread that reads ahead counts apart, since
        its waiting means nothing."""
        own = [thread for thread in self.threads if thread.name != AHEAD]
        ahead = [thread for thread in self.threads if thread.name == AHEAD]
        reading_s, unpacking_s, processing_s, committing_s = (
            math.fsum(each.seconds(kind) for each in own) for kind in KINDS
        )
        return SpentTime(
            reading_s,
            unpacking_s,
            processing_s,
            committing_s,
            ahead_s=math.fsum(each.seconds(kind) for each in ahead for kind in KINDS),
            thread_s=wall_s * max(n_threads, len(own)),
        )


def read_courses(folder: RunDirectory) -> Iterator[ChildCourses]:
    """Yields the courses of all processes with readable files."""
    decode = Decoder(ChildCourses).decode
    for file in folder.child_courses():
        try:
            yield decode(read_regular(file))
        except (OSError, MsgspecError):
            continue


def write_timing(
    processor: _core.Processor,
    run: Path,
    child: int,
    *,
    trace: bool,
    asked: Mapping[str, Set[str]],
    n_events: int,
    cpu_s: float,
    n_threads: int,
) -> None:
    """Writes, at the end of a child's work, {"modules": [{label, kind, concurrency, inputs, count,
    total_s, max_s, cpu_s, wait_inputs_s, wait_queue_s, bins: [[start_s, count], …], and for columns
    input: {read_calls, …}}], "loading", "stalls": [[module, waited_for, count, total_s]],
    "n_not_traced", "spent", "asked": {module: [column, …]} of modules in Python, "n_events"
    (committed by this process), "cpu_s", "wall_s" (of it, since it began to process)}; the time
    spent by its threads, in pieces; and the trace as (n,) records, as from
    `_core.Processor.trace`."""
    folder = RunDirectory(run)
    timing = processor.timing()
    activity = timing.pop("activity")
    wall_s = time.monotonic() - activity["start_s"]
    courses = ChildCourses.of(activity, child)
    timing |= {"n_events": n_events, "cpu_s": cpu_s, "wall_s": wall_s}
    timing["spent"] = {**asdict(courses.spent(wall_s, n_threads)), "n_events": n_events}
    timing["asked"] = {label: sorted(columns) for label, columns in asked.items()}
    write_json(unused(folder.child_timing(child)), timing, indent=None)
    write_json(unused(folder.child_course(child)), to_builtins(courses), indent=None)
    if trace:
        with (
            published(unused(folder.child_trace(child))) as temporary,
            open_new(temporary) as file,
        ):
            np.save(file, processor.trace())


_AT_A_TIME = 10_000
_FIELDS = ("thread", "node", "lane", "run", "lumi", "sequence", "start_ns", "end_ns")


class Call(Struct, frozen=True):
    """A call of a module on a thread of a child. Times in ns of the machine's clock."""

    child: int
    thread: int
    label: str
    lane: int
    run: int
    lumi: int
    block: int
    start_ns: int
    end_ns: int


def write_trace(run: Path, labels: Sequence[str]) -> Path | None:
    """Writes `RUNDIR/trace.json` from the children's records, piece by piece; None without any.
    `labels` : of the modules, by number."""
    files = RunDirectory(run).child_traces()
    if not files:
        return None
    start_ns = min((first_call_ns(file, labels) for file in files), default=0)
    path = RunDirectory(run).trace
    with published(path) as temporary, open_new(temporary) as out:
        out.write(b'{"displayTimeUnit": "ns", "traceEvents": [\n')
        separator = b""
        for event in _events(files, labels, start_ns):
            out.write(separator + json.dumps(event).encode())
            separator = b",\n"
        out.write(b"\n]}\n")
    return path


OTHERS = ("loading", "committing")
"""Activities noted in addition to calls of modules; numbered after them."""


def calls_of(file: Path, modules: Sequence[str], *, others: bool = False) -> Iterator[Call]:
    """Calls of a child, in the order of their ends, without the cutflow's counters. With `others`,
    also loading of blocks and commits. Raises InputError."""
    records, child = _records(file), _child(file)
    labels = (*modules, *OTHERS)
    if len(records) and int(records["node"].max()) >= len(labels):
        raise InputError(f"{file}: it has calls of more modules than the job has")
    if not others:
        records = records[records["node"] < len(modules)]
    for first in range(0, len(records), _AT_A_TIME):
        for thread, node, *rest in records[first : first + _AT_A_TIME].tolist():
            if not labels[node].startswith(CUTFLOW_LABEL):
                yield Call(child, thread, labels[node], *rest)


def _child(file: Path) -> int:
    return int(file.stem.rpartition("-")[2].split(".")[0])


def first_call_ns(file: Path, modules: Sequence[str] | None = None) -> int:
    """Begin of a child's first call; with `modules`, of the first one yielded by `calls_of`."""
    calls = _records(file)
    if modules is not None:
        shown = [n for n, label in enumerate(modules) if not label.startswith(CUTFLOW_LABEL)]
        calls = calls[np.isin(calls["node"], shown)]
    return int(calls["start_ns"].min()) if len(calls) else 2**62


def _records(file: Path) -> npt.NDArray[np.void]:
    """Calls of one child, memory-mapped. Raises InputError: the file may come from another user."""
    try:
        records: npt.NDArray[np.void] = np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{file}: cannot be read as the calls of a child: {error}") from None
    if records.ndim != 1 or records.dtype.names != _FIELDS:
        raise InputError(f"{file}: these are not the calls of a child")
    return records


def _events(
    files: Sequence[Path], labels: Sequence[str], start_ns: int
) -> Iterator[dict[str, Any]]:
    for file in files:
        child = _child(file)
        yield {"ph": "M", "pid": child, "name": "process_name", "args": {"name": f"child {child}"}}
        for thread in np.unique(_records(file)["thread"]).tolist():
            name = {"name": f"thread {thread}"}
            yield {"ph": "M", "pid": child, "tid": thread, "name": "thread_name", "args": name}
        for call in calls_of(file, labels):
            yield {
                "ph": "X",
                "pid": child,
                "tid": call.thread,
                "name": call.label,
                "ts": (call.start_ns - start_ns) / 1e3,
                "dur": (call.end_ns - call.start_ns) / 1e3,
                "args": {
                    "run": call.run,
                    "lumi": call.lumi,
                    "block": call.block,
                    "lane": call.lane,
                },
            }
