"""The report as plain text: what a physicist wants to know, at a glance."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from itertools import islice
from textwrap import shorten, wrap
from typing import Any

from forkrun.base.quantities import DASH, bar, count, percent, plural, seconds, size
from forkrun.monitoring.report.children import Balance, ChildSummary
from forkrun.monitoring.report.cutflow import PathCutflow
from forkrun.monitoring.report.datasets import DatasetCounts
from forkrun.monitoring.report.event_counts import EventCounts, OutputCounts, not_numbers
from forkrun.monitoring.report.glance import MOST_HELP, cheaper
from forkrun.monitoring.report.memory import MemorySummary, peak_text
from forkrun.monitoring.report.phases import Phases
from forkrun.monitoring.report.summary import (
    JobFacts,
    Outcome,
    Recovered,
    Summary,
    Totals,
)
from forkrun.monitoring.report.tables import MAX_PATHS, cutflow_tables, dataset_rows, format_table
from forkrun.monitoring.report.timing_table import input_lines

WIDTH = 100
MAX_CHILDREN_SHOWN = 32
MAX_RECOVERIES_SHOWN = 8
MAX_DAMAGED_SHOWN = 5
MAX_WARNINGS_SHOWN = 12


def format_text(summary: Summary) -> str:
    """The whole report; lines of at most WIDTH characters but for names that are longer."""
    sections = [
        _title(summary.job),
        _glance(summary),
        [*_job(summary.job, summary.events), *(_row("", note) for note in summary.notes)],
        _events(summary.events),
        _datasets(summary.datasets),
        _cutflow(summary.cutflow),
        _warnings(summary.warnings),
        [*_time(summary.phases, summary.totals, summary.job), *_blocks(summary.totals)],
        _children(summary.children, summary.balance),
        _sessions(summary),
        _recovery(summary.recovery),
        _memory(summary.memory, summary.totals),
        _spent(summary),
        input_lines(summary.input, WIDTH),
        _damaged(summary.damaged),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _title(job: JobFacts) -> list[str]:
    words = {
        Outcome.DONE: "done and verified",
        Outcome.FAILED: "FAILED",
        Outcome.UNFINISHED: "UNFINISHED",
    }
    title, outcome = f"forkrun · {job.name}", words[job.outcome]
    lines = [title + outcome.rjust(WIDTH - len(title)), "━" * WIDTH]
    said = [*(job.problem or "").splitlines(), *job.help[:MOST_HELP]]
    return [*lines, *(f"  {line}" for line in said)]


def _glance(summary: Summary) -> list[str]:
    """What it cost, and what would save most."""
    texts = [f"{text} ({saved})" if saved else text for text, saved in cheaper(summary.to_json())]
    return [*_wrapped("Cost", [summary.cost] if summary.cost else []), *_wrapped("Cheaper", texts)]


def _wrapped(name: str, texts: Sequence[str]) -> list[str]:
    lines = [
        ("  " if n else "") + line
        for text in texts
        for n, line in enumerate(wrap(text, WIDTH - 14, break_long_words=False))
    ]
    return [_row("" if n else name, line) for n, line in enumerate(lines)]


def _job(job: JobFacts, events: EventCounts) -> list[str]:
    host = job.host or {}
    ahead = " and one that reads ahead" if job.reads_ahead else ""
    shape = f"{shape_of(job)}{ahead} · {job.executor} · distribution {job.distribution}"
    parts = (
        (events.n_lumis_planned, "lumi"),
        (events.n_files, "file"),
        (events.n_units_planned, "unit"),
    )
    lumis, files, units = (plural(n, word) for n, word in parts)
    data = f"{lumis} in {files}, as {units} of work"
    lines = [_row("Job", shape), _row("", data), *_order(job)]
    lines.append(_row("", f"config {job.config_digest[:16]}"))
    if host:
        lines += [_row("", _command(host)), _row("Host", _machine(host)), _row("", _versions(host))]
    return [*lines, *_shared_histograms(job.shared_histograms)]


def shape_of(job: JobFacts) -> str:
    """`4 nodes × 2 children × 1 thread`."""
    each = job.children // job.n_nodes
    nodes = f"{plural(job.n_nodes, 'node')} × " if job.n_nodes > 1 else ""
    children = f"{count(each)} child{'ren' * (each != 1)}"
    return f"{nodes}{children} × {plural(job.threads_per_child, 'thread')}"


def _order(job: JobFacts) -> list[str]:
    """Where it is not that of the input."""
    words = {"lumi": "each lumi in one piece", "sorted": "sorted by run and lumi"}
    text = words.get(job.order or "")
    return [_row("", f"{text}, for {job.order_reason}")] if text else []


def _shared_histograms(histograms: Sequence[Mapping[str, Any]]) -> list[str]:
    """How many have their sums where, and what these take."""
    texts = []
    for memory, each in (("copy", " per thread"), ("buffered", ""), ("shared", "")):
        found = [h["bytes"] for h in histograms if h["memory"] == memory]
        if found:
            texts.append(f"{len(found)} {memory}, {size(sum(found))}{each}")
    return [_row("", f"histograms that threads fill: {' · '.join(texts)}")] if texts else []


def _command(host: Mapping[str, Any]) -> str:
    return shlex.join(host["command"])


def _machine(host: Mapping[str, Any]) -> str:
    cpus = f"{host['n_cpus']} × {host['cpu']}"
    return f"{host['name']} · {cpus} · {size(host['memory_bytes'])} · {host['kernel']}"


def _versions(host: Mapping[str, Any]) -> str:
    return " · ".join(f"{name} {version}" for name, version in host["versions"].items())


def _events(events: EventCounts) -> list[str]:
    read = f"{count(events.n_events_read)} of {count(events.n_events_planned)} planned"
    lines = [
        _row(
            "Events", f"read {read}{_mark(events.digests_agree, 'digests agree', 'DIGESTS DIFFER')}"
        )
    ]
    if events.n_events_dropped:
        n = count(events.n_events_dropped)
        lines.append(_row("", f"dropped {n} that are in the input before (source.duplicates)"))
    if events.n_events_without_partner:
        n = count(events.n_events_without_partner)
        lines.append(_row("", f"dropped {n} that have no entry in a friend (source.friends)"))
    if events.left_out:
        n = count(events.n_events_left_out)
        lines.append(_row("", f"LEFT OUT {n} that crash the child:"))
        for event in events.left_out[:MAX_RECOVERIES_SHOWN]:
            lines.append(_row("", f"{event.event} (entry {event.entry} of {event.file})"))
            lines.append(_row("", f"  {event.cause}"))
        again = f"--only {events.left_out[0].event} --children 0"
        lines.append(_row("", f"try one alone: forkrun run RUNDIR/config.json {again}"))
    if events.n_units_committed != events.n_units_planned:
        units = f"{count(events.n_units_committed)} of {count(events.n_units_planned)} units"
        lines.append(_row("", f"committed {units}, safe in the run directory; the rest is to do:"))
        lines.append(_row("", "run the same command again, or forkrun resume RUNDIR"))
    lines += [_row("", _output(output)) for output in events.outputs]
    told = not_numbers(events.not_finite, events.nan_fills)
    lines += [_row("", text) for text in islice(told, MAX_RECOVERIES_SHOWN)]
    return lines + [_row("", _anew(output)) for output in events.outputs if output.written_anew]


def _datasets(datasets: Sequence[DatasetCounts]) -> list[str]:
    rows = dataset_rows(datasets)
    return ["Datasets", *format_table(rows, left={0, 1})] if rows else []


def _cutflow(flows: Sequence[PathCutflow]) -> list[str]:
    if not flows:
        return []
    tables = [format_table(rows, left={0, 1}) for rows in cutflow_tables(flows)]
    lines = ["Cutflow", *(line for table in tables for line in (*table, ""))][:-1]
    lines += [f"  {flows[0].no_sum}"] if flows[0].no_sum else []
    if len(flows) > MAX_PATHS:
        lines.append(f"  … {len(flows) - MAX_PATHS} more paths in report.json")
    if flows[0].n_units_missing:
        lines.append(f"  without {plural(flows[0].n_units_missing, 'unit')} that were not counted")
    return lines


def _warnings(warnings: Sequence[str]) -> list[str]:
    return _wrapped("Warnings", _some(warnings, MAX_WARNINGS_SHOWN))


def _output(output: OutputCounts) -> str:
    kept = output.n_events_written / output.n_events_read if output.n_events_read else None
    written = f"output {output.label}: {count(output.n_events_written)} events ({percent(kept)})"
    n_bytes = output.n_bytes_merged or output.n_bytes_written
    merged = _mark(output.agree, "merged file agrees", "MERGED FILE DIFFERS") or " · not merged"
    return f"{written}, {size(n_bytes)}, compression {output.compression}{merged}"


def _anew(output: OutputCounts) -> str:
    shown = ", ".join(output.written_anew[:MAX_RECOVERIES_SHOWN])
    more = len(output.written_anew) - MAX_RECOVERIES_SHOWN
    names = shown + (f" and {more} more" if more > 0 else "")
    return f"output {output.label}: ROOT wrote these branches of objects anew: {names}"


def _mark(agree: bool | None, good: str, bad: str) -> str:
    return "" if agree is None else f" · ✓ {good}" if agree else f" · ✗ {bad}"


def _time(phases: Phases, totals: Totals, job: JobFacts) -> list[str]:
    added_up = "of all nodes and of collecting, added up; the phases above are its parts"
    all_nodes = [_row("", _phase("nodes", phases.active_s, added_up))] if job.n_nodes > 1 else []
    all_busy = "from the last child's first event to the first child's end"
    in_loops = f"{_rate(totals.event_loop_rate_events_per_s)} events/s in the event loops"
    return [
        _row("Time", _phase("start-up", phases.startup_s, _startup_parts(phases))),
        _row("", _phase("all busy", phases.processing_s, all_busy)),
        _row("", _phase("shut-down", phases.shutdown_s, _shutdown_parts(phases))),
        *all_nodes,
        _row("", _phase("whole job", phases.wall_s, "")),
        _row("Rate", f"{in_loops}, {_rate(totals.rate_events_per_s)} of the whole job"),
    ]


_FEW_EVENTS = 2000
"""Events of a commit below which calls of Python modules cost more than their events."""


def _blocks(totals: Totals) -> list[str]:
    """How much a call and a commit had; blocks are not larger than what is committed together."""
    if totals.events_per_commit is None:
        return []
    block = f"up to {count(totals.largest_block)} events" if totals.largest_block else "cache-sized"
    commits = plural(totals.n_commits, "commit")
    lines = [_row("Blocks", f"{block}; {commits} of {count(int(totals.events_per_commit))} events")]
    if totals.n_commits > 100 and totals.largest_block and totals.events_per_commit < _FEW_EVENTS:
        why = "few events per call of a Python module: docs/modules.md says why, under Blocks"
        lines.append(_row("", why))
    return lines


def _phase(name: str, duration_s: float | None, parts: str) -> str:
    return f"{name:<10}{seconds(duration_s):>9} s   {parts}".rstrip()


def _startup_parts(phases: Phases) -> str:
    return _parts(
        {
            "index and plan": phases.index_s,
            "modules": phases.modules_s,
            "fork": phases.fork_s,
            "first event": phases.first_event_s,
        }
    )


def _shutdown_parts(phases: Phases) -> str:
    return _parts({"waiting for the last child": phases.last_children_s, "merge": phases.merge_s})


def _parts(parts: Mapping[str, float | None]) -> str:
    return " · ".join(f"{name} {seconds(s)}" for name, s in parts.items() if s is not None)


def _rate(value: float | None) -> str:
    return DASH if value is None else count(value) if value >= 100 else f"{value:.3g}"


HEADER = (
    "child", "units", "events", "events/s", "processing", "", "end",
    "CPU", "peak PSS", "private", "reads",
)  # fmt: skip


def _children(children: Sequence[ChildSummary], balance: Balance) -> list[str]:
    longest = max((child.processing_s for child in children), default=0.0)
    shown = _worth_showing(children)
    rows = [HEADER, *(_child(child, longest) for child in shown)]
    lines = format_table(rows, left={5})
    if len(shown) < len(children):
        lines.append(f"  … {len(children) - len(shown)} more children in report.json")
    lines += [f"  ✗ child {c.child}: {c.status}" for c in children if c.failed]
    return [*lines, "", *_balance(balance)]


def _recovery(recovered: Sequence[Recovered]) -> list[str]:
    texts = _some([line.text for line in recovered], MAX_RECOVERIES_SHOWN)
    return [_row("" if n else "Recovery", text) for n, text in enumerate(texts)]


def _damaged(damaged: Sequence[str]) -> list[str]:
    what = "records that could not be read are left out of this report:"
    texts = [what, *_some(damaged, MAX_DAMAGED_SHOWN)] if damaged else []
    return [_row("" if n else "Damaged", text) for n, text in enumerate(texts)]


MAX_SESSIONS_SHOWN = 8


def _spent(summary: Summary) -> list[str]:
    shares = summary.spent.shares() if summary.spent else {}
    if not shares:
        return []
    texts = [f"{what} {percent(share)}" for what, share in shares.items()]
    return [_row("Threads", " · ".join(texts))]


def _sessions(summary: Summary) -> list[str]:
    """Sessions of a job that was resumed, or that ran on many nodes."""
    sessions = summary.sessions
    if len(sessions) < 2:
        return []
    first_s = min(session.start_s for session in sessions)
    texts = [
        f"{seconds(s.start_s - first_s)} s for {seconds(s.end_s - s.start_s)} s: "
        f"{count(s.n_events)} events; {s.outcome or 'killed, or runs'}"
        for s in sessions
    ]
    on_nodes = bool(summary.nodes)
    where = [
        f"node {s.node}, " if s.node is not None else "collecting, " * on_nodes for s in sessions
    ]
    shown = _some([a + b for a, b in zip(where, texts, strict=True)], MAX_SESSIONS_SHOWN)
    gaps = [f"gaps of {seconds(summary.phases.gaps_s)} s between them count in no time or rate"]
    lines = [*shown, *(gaps if summary.phases.gaps_s else [])]
    return [_row("" if n else "Sessions", shorten(line, 200)) for n, line in enumerate(lines)]


def _some(texts: Sequence[str], most: int) -> list[str]:
    more = len(texts) - most
    return [*texts[:most], *([f"… {more} more in report.json"] if more > 0 else [])]


def _worth_showing(children: Sequence[ChildSummary]) -> Sequence[ChildSummary]:
    if len(children) <= MAX_CHILDREN_SHOWN:
        return children
    by_time = sorted(children, key=lambda child: child.processing_s)
    half = MAX_CHILDREN_SHOWN // 2
    extremes = {child.child for child in by_time[:half] + by_time[-half:]}
    return [child for child in children if child.child in extremes or child.failed]


def _child(child: ChildSummary, longest_s: float) -> tuple[str, ...]:
    return (
        str(child.child) + " ✗" * child.failed,
        count(child.n_units)
        + ("" if child.n_units_planned in (None, child.n_units) else f"/{child.n_units_planned:,}"),
        count(child.n_events),
        _rate(child.rate_events_per_s),
        f"{seconds(child.processing_s)} s",
        bar(child.processing_s / longest_s if longest_s else 0.0, 10),
        f"{seconds(child.end_s)} s",
        percent(child.cpu_efficiency, 0),
        size(child.peak_pss_bytes),
        size(child.end_uss_bytes),
        size(child.read_bytes),
    )


def _balance(balance: Balance) -> list[str]:
    times, ends = balance.processing_times, balance.end_times
    lines = [_row("Balance", f"utilization {percent(balance.utilization)}")]
    if times and ends:
        span = f"{seconds(times.min_s)} to {seconds(times.max_s)} s"
        deviation = f"relative spread {percent(times.relative_std)}"
        late = f"the last child ended {seconds(ends.range_s)} s after the first"
        lines += [
            _row("", f"processing times: {span}, {deviation}"),
            _row("", f"end times: {late}"),
        ]
    return lines


def _memory(memory: MemorySummary | None, totals: Totals) -> list[str]:
    if memory is None:
        return [_row("Memory", "not sampled"), *_cost(totals)]
    peak = memory.peak
    parts = f"{size(peak.shared_bytes)} shared by all + {size(peak.private_bytes)} private"
    saving = f"{size(memory.saving_bytes)}, {percent(memory.saving_fraction, 0)}"
    processes = "1 process" if peak.n_processes == 1 else f"{peak.n_processes} processes"
    processes += "" if memory.node is None else f" of node {memory.node}, which has most"
    most = peak_text(peak.pss_bytes, memory.is_at_least)
    lines = [
        _row("Memory", f"peak {most} (PSS) in {processes}: {parts}"),
        _row("", f"as separate processes {size(peak.rss_bytes)} (RSS): sharing saves {saving}"),
    ]
    if memory.all_nodes_bytes is not None:
        saved = f"sharing saves {size(memory.all_nodes_saving_bytes)}"
        lines.append(_row("", f"all nodes {size(memory.all_nodes_bytes)} at their peaks: {saved}"))
    return [
        *lines,
        *_cost(totals),
    ]


def _cost(totals: Totals) -> list[str]:
    reads = f"{size(totals.read_bytes)} in {plural(totals.read_calls, 'call')}"
    used = f"{percent(totals.cpu_efficiency)} of their threads' time"
    lines = [
        _row("Reading", f"{reads}, {size(totals.mean_read_bytes)} each"),
        _row("CPU", f"{seconds(totals.cpu_s)} s in the children, {used}"),
    ]
    sampler = totals.sampler
    if sampler:
        cost = f"{seconds(sampler['cpu_s'])} s, {percent(sampler['cpu_fraction'], 2)} of a CPU"
        stop = f"no sample stopped a child for more than {1e3 * sampler['longest_stop_s']:.1f} ms"
        samples = plural(sampler["n_samples"], "sample")
        lines.append(_row("Sampler", f"{samples} took {cost}; {stop}"))
    return lines


def _row(name: str, text: str) -> str:
    return f"  {name:<10}{text}"
