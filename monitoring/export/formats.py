"""Measurements of a run in formats of other programs, by name: each is a function from records to
bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

from forkrun.monitoring.export.perfetto import perfetto_trace
from forkrun.monitoring.records import RunRecords, Sample, complete_samples
from forkrun.monitoring.report.memory import add_up, memory_against_time
from forkrun.monitoring.report.phases import describe_sessions, gaps_between
from forkrun.monitoring.report.summary import summarize
from forkrun.monitoring.timing.model import ModuleTiming, read_timing

_RESOURCES = (
    ("time_real", "real time"),
    ("time_thread", "cpu time"),
)
_MS = 1000.0


def resources(run: Path, records: RunRecords) -> bytes:
    """Times in ms, summed over all events, threads and children. Raises InputError if the job
    measured no modules."""
    timing = read_timing(run)
    name = records.config.get("job", {}).get("name", "job")
    total = {
        "type": "Job",
        "label": name,
        "events": timing.n_events,
        "time_real": _MS * timing.wall_s,
        "time_thread": _MS * timing.cpu_s,
    }
    content = {
        "modules": [
            _circles_module(module, timing.n_events) for module in timing.modules if module.count
        ],
        "resources": [
            {"name": key, "description": text, "unit": "ms", "title": "Time"}
            for key, text in _RESOURCES
        ],
        "total": total,
    }
    return (json.dumps(content, indent=2) + "\n").encode()


def _circles_module(module: ModuleTiming, n_events: int) -> dict[str, Any]:
    return {
        "type": module.kind,
        "label": module.label,
        "events": n_events,
        "time_real": _MS * module.total_s,
        "time_thread": _MS * module.cpu_s,
    }


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
    rows = [[str(getattr(row, name)) for name in names] for row in _prmon_rows(records)]
    return "".join("\t".join(each) + "\n" for each in [names, *rows]).encode()


def prmon_json(_: Path, records: RunRecords) -> bytes:
    """JSON with averages of quantities that vary, rates of those that only grow, and maxima of
    both."""
    rows = list(_prmon_rows(records))
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


def _prmon_rows(records: RunRecords) -> Iterator[Row]:
    last: dict[tuple[int | None, int], Sample] = {}
    gaps = list(gaps_between(describe_sessions(records.sessions())))
    samples = iter(records.samples)
    for group in complete_samples(records):
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


Values = list[tuple[dict[str, str], float]]


class Metric(Struct, frozen=True):
    """`values`: labels and value of each; a counter only grows."""

    name: str
    kind: str
    text: str
    values: Values


def metrics(run: Path, records: RunRecords) -> bytes:
    """All metrics of a run, each with the labels `job` and `run`."""
    labels = {"job": str(records.config.get("job", {}).get("name", "job")), "run": str(run)}
    lines: list[str] = []
    for metric in _metrics(records):
        if metric.values:
            unit = metric.name.rpartition("_")[2]
            lines += [f"# TYPE {metric.name} {metric.kind}"]
            lines += [f"# UNIT {metric.name} {unit}"] if unit in ("seconds", "bytes") else []
            lines += [f"# HELP {metric.name} {metric.text}"]
            suffix = "_total" if metric.kind == "counter" else ""
            lines += [
                f"{metric.name}{suffix}{_labels({**labels, **own})} {value:.10g}"
                for own, value in metric.values
            ]
    return ("\n".join([*lines, "# EOF"]) + "\n").encode()


def _metrics(records: RunRecords) -> Iterator[Metric]:
    summary = summarize(records)
    events, phases = summary.events, summary.phases
    alone: dict[str, str] = {}

    def one(name: str, kind: str, text: str, value: float | None) -> Metric:
        return Metric(f"forkrun_{name}", kind, text, [] if value is None else [(alone, value)])

    yield one("events_planned", "gauge", "Events of the job.", events.n_events_planned)
    yield one("events_read", "counter", "Events that are committed.", events.n_events_read)
    yield one("units_planned", "gauge", "Units of work of the job.", events.n_units_planned)
    yield one("units_committed", "counter", "Units of work done.", events.n_units_committed)
    yield one("run_seconds", "gauge", "Time since the job's start.", phases.wall_s)
    yield one("cpu_seconds", "counter", "CPU time of the event loops.", summary.totals.cpu_s)
    yield one("read_bytes", "counter", "Bytes read by event loops.", summary.totals.read_bytes)
    yield one("warnings", "gauge", "Warnings of the job.", len(summary.warnings))
    yield one("recoveries", "counter", "Children that were replaced.", len(summary.recovery))
    ended = records.last("job_end") is not None
    outcome = [({"outcome": str(summary.job.outcome)}, 1.0)] if ended else []
    yield Metric("forkrun_outcome", "gauge", "How the job ended.", outcome)
    yield from _memory_metrics(records)
    children = [({"child": str(each.child)}, float(each.n_events)) for each in summary.children]
    yield Metric("forkrun_child_events", "counter", "Events of a child.", children)


def _memory_metrics(records: RunRecords) -> Iterator[Metric]:
    totals = memory_against_time(records)
    if not totals:
        return
    now = totals[-1]
    texts = {
        "pss": ("Proportional set size of all processes.", now.pss_bytes),
        "private": ("Memory of one process alone, summed.", now.private_bytes),
        "shared": ("Memory that processes have in common, once.", now.shared_bytes),
        "rss": ("Resident set size, shared pages once per process.", now.rss_bytes),
    }
    for name, (text, value) in texts.items():
        yield Metric(f"forkrun_{name}_bytes", "gauge", text, [({}, float(value))])
    yield Metric("forkrun_processes", "gauge", "Processes now.", [({}, float(now.n_processes))])


def _labels(labels: Mapping[str, str]) -> str:
    escaped = {
        name: value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        for name, value in labels.items()
    }
    return "{" + ",".join(f'{name}="{value}"' for name, value in escaped.items()) + "}"


def all_lines(_: Path, records: RunRecords) -> bytes:
    """All records as JSON Lines in order of time; `kind`: type of the line, `time_s`: in seconds
    since the epoch (commits: their end)."""
    lines: list[dict[str, Any]] = []
    for line in records.timeline:
        lines.append({"kind": "timeline", **line.details})
    for sample in records.samples:
        lines.append({"kind": "sample", **to_builtins(sample)})
    for commit in records.ledger:
        lines.append({"kind": "commit", "time_s": commit.end_s, **to_builtins(commit)})
    lines.sort(key=lambda line: line["time_s"])
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()


class ExportFormat(Struct, frozen=True):
    """`write`: returns the file's content, for a run directory and its records."""

    text: str
    write: Callable[[Path, RunRecords], bytes]


FORMATS = {
    "prmon": ExportFormat("samples in the text of prmon, which prmon_plot.py draws", prmon_text),
    "prmon-json": ExportFormat("averages and maxima in the JSON of prmon", prmon_json),
    "circles": ExportFormat("resources.json of modules for the circles viewer", resources),
    "perfetto": ExportFormat("trace of all processes for ui.perfetto.dev", perfetto_trace),
    "openmetrics": ExportFormat("figures of now for Prometheus, also while the job runs", metrics),
    "jsonl": ExportFormat("timeline, samples and commits as JSON Lines", all_lines),
}
