"""Text and JSON in the formats of prmon (https://github.com/HSF/prmon), for its scripts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from forkrun.monitoring.records import RunRecords, Sample
from forkrun.monitoring.report.memory import add_up
from forkrun.monitoring.report.memory_curves import complete_samples
from forkrun.monitoring.report.sessions import describe_sessions, gaps_between

_KB = 1024


class Row(Struct, frozen=True):
    """All processes of a job at one time, with names and units of prmon: times in s, memory in kB
    of 1024 bytes, reads in bytes since the job's start. CPU times and reads include ended
    processes; times exclude gaps between sessions."""

    Time: int
    wtime: int
    nprocs: int
    pss: int
    rss: int
    stime: int
    utime: int
    rchar: int


def prmon_text(_: Path, records: RunRecords) -> bytes:
    """Text with a row for each complete sample."""
    names = Row.__struct_fields__
    rows = [[str(getattr(row, name)) for name in names] for row in _rows(records)]
    return "".join("\t".join(each) + "\n" for each in [names, *rows]).encode()


def prmon_json(_: Path, records: RunRecords) -> bytes:
    """JSON with averages of quantities that vary, rates of those that only grow, and maxima of
    both."""
    rows = list(_rows(records))
    host = records.host or {}
    sums: dict[str, dict[str, float]] = {"Avg": {}, "Max": {}}
    for name in Row.__struct_fields__[2:] if rows else ():
        values = [getattr(row, name) for row in rows]
        sums["Max"][name] = max(values)
        if name in ("pss", "rss", "nprocs"):
            sums["Avg"][name] = sum(values) / len(values)
        elif name == "rchar":
            sums["Avg"][name] = values[-1] / max(rows[-1].wtime, 1)
    if rows:
        sums["Max"]["wtime"] = rows[-1].wtime
    machine = {
        "cpu": {"CPUs": host.get("n_cpus"), "ModelName": host.get("cpu")},
        "mem": {"MemTotal": host.get("memory_bytes", 0) // _KB},
    }
    return (json.dumps({**sums, "HW": machine}, indent=2) + "\n").encode()


def _rows(records: RunRecords) -> Iterator[Row]:
    last: dict[tuple[int | None, int], Sample] = {}
    gaps = list(gaps_between(describe_sessions(records.sessions())))
    samples = iter(records.samples)
    for group in complete_samples(records.samples):
        at_s = group[-1].time_s
        while (sample := next(samples, None)) is not None:
            last[sample.child, sample.pid] = sample
            if sample is group[-1]:
                break
        memory = add_up(group)
        yield Row(
            Time=int(at_s),
            wtime=round(at_s - records.start_s - sum(e - b for b, e in gaps if e <= at_s)),
            nprocs=memory.n_processes,
            pss=memory.pss_bytes // _KB,
            rss=memory.rss_bytes // _KB,
            stime=round(sum(each.cpu_system_s for each in last.values())),
            utime=round(sum(each.cpu_user_s for each in last.values())),
            rchar=sum(each.read_bytes for each in last.values()),
        )
