"""A trace of modules on threads across children, in the Chrome trace event format: open it in
ui.perfetto.dev."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from forkrun.monitoring.timing.record import trace_file
from forkrun.rundir.directory import output_errors

_AT_A_TIME = 10_000


def write_trace(run: Path, labels: Sequence[str]) -> Path | None:
    """`RUNDIR/trace.json` from what children left, piece by piece; None where no child left any.
    `labels` : of the modules, by number."""
    files = sorted((run / "monitoring").glob(trace_file(run, 0).name.replace("000", "*")))
    if not files:
        return None
    start_ns = min(_first_ns(file) for file in files)
    path = run / "trace.json"
    part = path.with_name(path.name + ".part")
    with output_errors(path):
        with part.open("w", encoding="utf-8") as out:
            out.write('{"displayTimeUnit": "ns", "traceEvents": [\n')
            separator = ""
            for event in _events(files, labels, start_ns):
                out.write(separator + json.dumps(event))
                separator = ",\n"
            out.write("\n]}\n")
        part.replace(path)
    return path


def _first_ns(file: Path) -> int:
    records = np.load(file, mmap_mode="r")
    return int(records["start_ns"].min()) if len(records) else 2**62


def _events(
    files: Sequence[Path], labels: Sequence[str], start_ns: int
) -> Iterator[dict[str, Any]]:
    for file in files:
        child = int(file.stem.rpartition("-")[2].split(".")[0])
        yield {"ph": "M", "pid": child, "name": "process_name", "args": {"name": f"child {child}"}}
        records = np.load(file, mmap_mode="r")
        for thread in np.unique(records["thread"]).tolist():
            name = {"name": f"thread {thread}"}
            yield {"ph": "M", "pid": child, "tid": thread, "name": "thread_name", "args": name}
        for first in range(0, len(records), _AT_A_TIME):
            yield from _calls(records[first : first + _AT_A_TIME], child, labels, start_ns)


def _calls(
    records: npt.NDArray[np.void], child: int, labels: Sequence[str], start_ns: int
) -> Iterator[dict[str, Any]]:
    for thread, node, lane, run, lumi, sequence, begin_ns, end_ns in records.tolist():
        yield {
            "ph": "X",
            "pid": child,
            "tid": thread,
            "name": labels[node],
            "ts": (begin_ns - start_ns) / 1e3,
            "dur": (end_ns - begin_ns) / 1e3,
            "args": {"run": run, "lumi": lumi, "block": sequence, "lane": lane},
        }
