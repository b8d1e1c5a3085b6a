"""A trace of modules on threads across children, in the Chrome trace event format: open it in
ui.perfetto.dev."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from forkrun.base.durable import open_new, published
from forkrun.errors import InputError
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import CUTFLOW_LABEL

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
