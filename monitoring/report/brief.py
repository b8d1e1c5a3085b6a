"""The report in a few lines for the terminal: success, selected events, rate, and anything that
needs attention. The rest is in `report.txt`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from textwrap import shorten
from typing import Any

from forkrun.base.quantities import DASH, count, percent, plural, seconds, size
from forkrun.monitoring.report.sections import (
    digests_of,
    not_numbers,
    outcome_of,
    peak_of,
)
from forkrun.monitoring.tables import rate

MAX_LINES = 15
_WIDTH = 100
_SHOWN = 3
"""Most lines of one kind."""


def format_brief(report: Mapping[str, Any], place: str) -> str:
    """`report`: as in report.json; `place`: the run directory's path as known to the user. At most
    MAX_LINES lines."""
    job = report["job"]
    wall = f"{seconds(report['phases']['wall_s'])} s"
    title = f"{job['name']}: {outcome_of(report)} in {wall}"
    end = [*_end(report), _row("Report", f"{place}/report.html, in words report.txt")]
    body = islice(_body(report), MAX_LINES - 1 - len(end))
    return "\n".join([title, *body, *end]) + "\n"


def _body(report: Mapping[str, Any]) -> Iterator[str]:
    """Lines in order of importance: the last are cut if there are too many."""
    yield _row("Events", _events(report))
    yield from _left_out(report["events"])
    yield from _few("Warning", [*not_numbers(report["events"]), *report["warnings"]], most=2)
    yield from _few("Recovery", [line["text"] for line in report["recovery"]], most=1)
    yield from _few("Output", [_output(output) for output in report["events"]["outputs"]])
    yield from _few("Path", [_path(flow) for flow in report["cutflow"]])


def _end(report: Mapping[str, Any]) -> Iterator[str]:
    """Lines that are always shown."""
    yield _row("Children", _children(report))
    if report["memory"]:
        yield _row("Memory", _memory(report["memory"]))
        if report["memory"].get("all_nodes_bytes") is not None:
            saved = f"sharing saves {size(report['memory']['all_nodes_saving_bytes'])}"
            n_bytes = size(report["memory"]["all_nodes_bytes"])
            yield _row("", f"all nodes {n_bytes} at their peaks: {saved}")


def _events(report: Mapping[str, Any]) -> str:
    events, totals = report["events"], report["totals"]
    read = f"{count(events['n_events_read'])} of {count(events['n_events_planned'])} read"
    loops = f"{rate(totals['event_loop_rate_events_per_s'])} in the event loops"
    proved = ", ".join(filter(None, [read, digests_of(events)]))
    return f"{proved} · {rate(totals['rate_events_per_s'])} events/s, {loops}"


def _left_out(events: Mapping[str, Any]) -> Iterator[str]:
    if not events["left_out"]:
        return
    first = events["left_out"][0]
    n = count(events["n_events_left_out"])
    place = f"{first['event']} (entry {first['entry']} of {first['file']})"
    yield _row("LEFT OUT", f"{n} that crash the child, the first {place}")
    again = f"forkrun run RUNDIR/config.json --only {first['event']} --children 0"
    yield _row("", f"process it alone: {again}")


def _output(output: Mapping[str, Any]) -> str:
    n_read, n_written = output["n_events_read"], output["n_events_written"]
    kept = percent(n_written / n_read if n_read else None)
    n_bytes = size(output["n_bytes_merged"] or output["n_bytes_written"])
    agrees = {True: "merged file agrees", False: "MERGED FILE DIFFERS"}
    merged = agrees.get(output["agree"], "not merged")
    return f"{output['label']}: {plural(n_written, 'event')} ({kept}), {n_bytes}, {merged}"


def _path(flow: Mapping[str, Any]) -> str:
    of_each = flow["datasets"] if flow.get("no_sum") else {"": flow["cuts"]}
    return f"{flow['path']}: {', '.join(_left(*each) for each in of_each.items())}"


def _left(dataset: str, cuts: Sequence[Mapping[str, Any]]) -> str:
    total = cuts[-1]["total"]
    fraction = percent(total["value"]) if total else DASH
    n_left, n_all = (count(cut["n_events"]) for cut in (cuts[-1], cuts[0]))
    return f"{dataset} {n_left} of {n_all} ({fraction})".strip()


def _children(report: Mapping[str, Any]) -> str:
    job, busy = report["job"], report["balance"]["utilization"]
    used = percent(report["totals"]["cpu_efficiency"], 0)
    ahead = ", reading ahead" if job["reads_ahead"] else ""
    nodes = f"{plural(job['n_nodes'], 'node')} × " if job["n_nodes"] > 1 else ""
    each = count(job["children"] // job["n_nodes"])
    shape = f"{nodes}{each} × {plural(job['threads_per_child'], 'thread')}{ahead}"
    return f"{shape}, utilization {percent(busy, 0)}, {used} of their threads' time on a CPU"


def _memory(memory: Mapping[str, Any]) -> str:
    peak = peak_of(memory)
    node = "" if memory.get("node") is None else f" of node {memory['node']}"
    shared = f"{size(memory['peak']['shared_bytes'])} of it shared by all"
    return f"peak {peak}{node}, {shared}: sharing saves {size(memory['saving_bytes'])}"


def _few(name: str, texts: list[str], most: int = _SHOWN) -> Iterator[str]:
    for text in texts[:most]:
        yield _row(name, shorten(text, _WIDTH - 12, placeholder=" …"))
    if len(texts) > most:
        yield _row("", f"and {len(texts) - most} more")


def _row(name: str, text: str) -> str:
    return f"  {name:<10}{text}"
