"""OpenMetrics text for Prometheus: current figures of a job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from forkrun.monitoring.records import RunRecords
from forkrun.monitoring.report.memory import memory_against_time
from forkrun.monitoring.report.summary import summarize

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
    yield from _memory(records)
    children = [({"child": str(each.child)}, float(each.n_events)) for each in summary.children]
    yield Metric("forkrun_child_events", "counter", "Events of a child.", children)


def _memory(records: RunRecords) -> Iterator[Metric]:
    totals = memory_against_time(records.samples)
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
