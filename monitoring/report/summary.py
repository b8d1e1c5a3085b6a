"""Summary of a job: a pure function of its records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct, convert, to_builtins
from msgspec.structs import replace

from forkrun.base.destinations import datasets_in
from forkrun.base.quantities import plural
from forkrun.monitoring.records import RunRecords, TimelineLine
from forkrun.monitoring.report.children import (
    Balance,
    ChildSummary,
    measure_balance,
    summarize_children,
)
from forkrun.monitoring.report.cutflow import PathCutflow, summarize_cutflow
from forkrun.monitoring.report.event_counts import (
    DatasetCounts,
    EventCounts,
    ResultOrigins,
    count_datasets,
    count_events,
    summarize_results,
    warnings_of_low_yields,
)
from forkrun.monitoring.report.memory import MemorySummary, summarize_memory
from forkrun.monitoring.report.memory_detail import MemoryDetail
from forkrun.monitoring.report.nodes import NodeReports, NodeSummary, event_loops, with_work
from forkrun.monitoring.report.phases import (
    Phases,
    Session,
    describe_sessions,
    measure_phases,
    phases_of_nodes,
    phases_of_sessions,
)
from forkrun.monitoring.tables import ratio
from forkrun.monitoring.timing.model import InputCosts, Timing
from forkrun.monitoring.timing.record import SpentTime
from forkrun.rundir.ledger import Commit, units_by_build

SCHEMA_VERSION = 1


class Outcome(StrEnum):
    """State of a job."""

    DONE = "done"
    FAILED = "failed"
    UNFINISHED = "unfinished"


class JobFacts(Struct, frozen=True):
    """The job, its place and its outcome."""

    name: str
    outcome: Outcome
    problem: str | None
    help: tuple[str, ...]
    """Further messages of a failed job: the line of the user's code, the log, the command that
    repeats the event."""
    config_digest: str
    distribution: str | None
    order: str | None
    """Order of events: "input", "lumi" or "sorted"."""
    order_reason: str
    children: int
    """Children of all nodes."""
    n_nodes: int
    """1 unless the job is on many nodes."""
    threads_per_child: int
    reads_ahead: bool
    """Whether each child reads ahead on an additional thread."""
    executor: str | None
    host: Mapping[str, Any] | None
    shared_histograms: tuple[Mapping[str, Any], ...]
    """Histograms of C++ modules filled by several threads of a child at once: `name`; `memory`:
    place of their sums; `bytes`: size of one table."""


class Totals(Struct, frozen=True):
    """Sums over the children's ledgers, and the sampler's own cost. Rates count read events."""

    rate_events_per_s: float | None
    event_loop_rate_events_per_s: float | None
    processing_s: float
    thread_s: float
    """Time of the children's threads while processing; `cpu_efficiency` is a share of it."""
    cpu_s: float
    cpu_efficiency: float | None
    read_calls: int
    read_bytes: int
    mean_read_bytes: float | None
    cached_bytes: int
    """Bytes of remote files read from this machine's cache instead of servers."""
    n_commits: int
    events_per_commit: float | None
    largest_block: int
    """Events; 0: chosen by the source."""
    sampler: Mapping[str, Any] | None


class Recovered(Struct, frozen=True):
    """A child that failed, and the reaction. `time_s` since the epoch; `unit`: in progress, None if
    none; `lost_s`: from its last commit to its end."""

    time_s: float
    child: int | None
    unit: int | None
    text: str
    lost_s: float = 0.0


class Advice(Struct, frozen=True):
    """Advice about the job. `figure`: its measured reason; `section`: of the page with the
    evidence; `saves_s`: largest saving in the lengths of sessions; None: no time, or unknown."""

    text: str
    figure: str
    section: str
    saves_s: float | None = None


class Summary(Struct, frozen=True):
    """Content of report.json."""

    job: JobFacts
    events: EventCounts
    phases: Phases
    totals: Totals
    balance: Balance
    memory: MemorySummary | None
    children: tuple[ChildSummary, ...]
    recovery: tuple[Recovered, ...]
    datasets: tuple[DatasetCounts, ...]
    """Empty unless the job has several."""
    cutflow: tuple[PathCutflow, ...]
    notes: tuple[str, ...]
    """Remarks on the input."""
    warnings: tuple[str, ...]
    """Warnings about silent losses, slowness and probable mistakes; each once."""
    damaged: tuple[str, ...]
    """Descriptions of unreadable records, which are left out."""
    sessions: tuple[Session, ...] = ()
    """Sessions of the job, in order: one per parent, on many nodes those of each node."""
    nodes: tuple[NodeSummary, ...] = ()
    input: InputCosts | None = None
    """Cost of reading, by column; None: calls of modules were not timed."""
    spent: SpentTime | None = None
    """Time spent by the children's threads; None: calls of modules were not timed."""
    results: tuple[ResultOrigins, ...] = ()
    """Results, and which run computed them for which events."""
    advice: tuple[Advice, ...] = ()
    """Sorted by saving."""
    memory_detail: MemoryDetail | None = None
    """Kinds of memory; None: not requested, or on many nodes, which report their own."""
    cost: str = ""
    """Cost of the job, in words."""

    def to_json(self) -> dict[str, Any]:
        """Content of `report.json`, as documented in docs/monitoring.md."""
        return {"schema_version": SCHEMA_VERSION, **to_builtins(self)}


def summarize(
    records: RunRecords, timing: Timing | None = None, on_nodes: NodeReports | None = None
) -> Summary:
    """Turns the records of all sessions into the values of a report. `on_nodes`: reports of the
    job's nodes."""
    events = count_events(records)
    course = _course_of_nodes(records, on_nodes) if on_nodes else _course_of_sessions(records)
    recovery = _recovered(records, on_nodes)
    deaths = [each.child for each in recovery]
    children = course.children
    return Summary(
        job=_job_facts(records, course.last, events, children, on_nodes),
        events=events,
        phases=course.phases,
        totals=_totals(records, course.phases, children),
        balance=measure_balance(course.groups, course.last.ledger, len(recovery)),
        memory=on_nodes.memory if on_nodes else summarize_memory(records),
        children=children,
        recovery=recovery,
        datasets=count_datasets(records),
        cutflow=summarize_cutflow(
            records.earlier.counts(records.ledger),
            datasets_in(records.config),
            are_normalised=bool(records.datasets.get("weights_are_normalised")),
        ),
        notes=tuple(records.plan.get("notes", ())),
        warnings=_warnings(records, on_nodes),
        damaged=records.damaged,
        sessions=course.sessions,
        nodes=with_work(on_nodes, children, records.ledger, deaths) if on_nodes else (),
        input=timing.input if timing else None,
        spent=timing.spent if timing else None,
        results=summarize_results(records, events),
    )


class _Course(Struct, frozen=True):
    """Course of a job. `last`: records of the last session; `groups`: children that worked at the
    same time."""

    sessions: tuple[Session, ...]
    phases: Phases
    children: tuple[ChildSummary, ...]
    groups: Sequence[Sequence[ChildSummary]]
    last: RunRecords


def _course_of_sessions(records: RunRecords) -> _Course:
    parts = records.sessions()
    children = summarize_children(records, parts[-1])
    groups = [children] if len(parts) == 1 else [*map(summarize_children, parts)]
    sessions, phases = describe_sessions(parts), phases_of_sessions(parts)
    return _Course(sessions, phases, children, groups, parts[-1])


def _course_of_nodes(records: RunRecords, nodes: NodeReports) -> _Course:
    """Course on nodes: sessions of nodes, then those of the collection, which processed nothing."""
    own = [replace(part, ledger=()) for part in records.sessions() if part.timeline]
    sessions = (*nodes.sessions, *describe_sessions(own))
    phases = [node.phases for node in nodes.nodes if node.phases is not None]
    loops = event_loops(records.ledger, nodes)
    whole = phases_of_nodes(
        [*phases, *map(measure_phases, own)], sessions, [one for of in loops.values() for one in of]
    )
    n, each = nodes.n_nodes, nodes.n_children
    children = summarize_children(records, n_children=n * each, start_s=whole.start_s)
    groups = [children[first : first + each] for first in range(0, n * each, each)]
    return _Course(sessions, whole, children, groups, records)


def _recovered(records: RunRecords, nodes: NodeReports | None) -> tuple[Recovered, ...]:
    own = (
        Recovered(line.time_s, line.child, line.details.get("unit"), _text(line), lost)
        for line, lost in _with_losses(records)
    )
    of_nodes = nodes.recovery if nodes else ()
    return (*own, *(convert(line, Recovered) for line in of_nodes))


def _with_losses(records: RunRecords) -> Iterator[tuple[TimelineLine, float]]:
    """Lines of recovery, with the working time of the process since its last commit [s]."""
    known: dict[int, float] = {}
    for commit in records.ledger:
        known[commit.pid] = max(commit.end_s, known.get(commit.pid, commit.end_s))
    lost: dict[int | None, float] = {}
    for line in records.timeline:
        pid = line.details.get("pid", 0)
        if line.event in ("fork", "child_started"):
            known.setdefault(pid, line.time_s)
        elif line.event == "child_exit":
            lost[line.child] = max(line.time_s - known.get(pid, line.time_s), 0.0)
        elif line.event == "recovery":
            yield line, lost.pop(line.child, 0.0)


def _warnings(records: RunRecords, nodes: NodeReports | None) -> tuple[str, ...]:
    lines = (line for line in records.timeline if line.event == "warning")
    texts = [*_builds(records.ledger), *records.plan.get("warnings", ()), *map(_text, lines)]
    of_nodes = nodes.warnings if nodes else ()
    return tuple(dict.fromkeys([*texts, *warnings_of_low_yields(records), *of_nodes]))


def _builds(commits: Sequence[Commit]) -> Iterator[str]:
    """A warning if several builds of forkrun processed the run."""
    n_units = units_by_build(commits)
    if len(n_units) > 1:
        shares = [f"{plural(n, 'unit')} by {build}" for build, n in n_units.items()]
        yield f"several builds of forkrun processed this run: {', '.join(shares)}"


def _text(line: TimelineLine) -> str:
    return str(line.details.get("text", line.event))


def _job_facts(
    records: RunRecords,
    last: RunRecords,
    events: EventCounts,
    children: tuple[ChildSummary, ...],
    nodes: NodeReports | None,
) -> JobFacts:
    """`last`: records of the last session."""
    config = records.config
    threads = config.get("threads", {})
    outcome, problem = _outcome(last, events, children)
    end = last.last("job_end")
    return JobFacts(
        name=config.get("job", {}).get("name", "job"),
        outcome=outcome,
        problem=problem,
        help=() if end is None else tuple(map(str, end.details.get("help", ()))),
        config_digest=records.config_digest,
        distribution=records.plan.get("distribution"),
        order=records.plan.get("order"),
        order_reason=records.plan.get("order_reason", ""),
        children=records.plan.get("children", config.get("forking", {}).get("children", 0))
        * (nodes.n_nodes if nodes else 1),
        n_nodes=nodes.n_nodes if nodes else 1,
        threads_per_child=threads.get("per_child", 1),
        reads_ahead=_reads_ahead(records),
        executor=threads.get("executor"),
        host=records.host,
        shared_histograms=_shared_histograms(records),
    )


def _reads_ahead(records: RunRecords) -> bool:
    line = records.last("modules_built")
    return line is not None and bool(line.details.get("reads_ahead"))


def _shared_histograms(records: RunRecords) -> tuple[Mapping[str, Any], ...]:
    line = records.last("histograms")
    return () if line is None else tuple(line.details.get("shared", ()))


def _outcome(
    records: RunRecords, events: EventCounts, children: tuple[ChildSummary, ...]
) -> tuple[Outcome, str | None]:
    """Outcome: done only if the job says so and the counts and digests agree."""
    end = records.last("job_end")
    said = None if end is None else end.details.get("outcome")
    if end is not None and end.details.get("unfinished"):
        return Outcome.UNFINISHED, _unfinished(str(said), events)
    if said not in (None, "ok"):
        return Outcome.FAILED, str(said)
    failed = [f"child {child.child}: {child.status}" for child in children if child.failed]
    if end is None:
        if failed:
            return Outcome.FAILED, "; ".join(failed)
        return Outcome.UNFINISHED, _unfinished("the job has not ended, or was killed", events)
    if events.is_partial:
        return Outcome.FAILED, "units of work are missing"
    if not events.complete:
        return Outcome.FAILED, "what was read or written is not what was planned"
    left_out = events.n_events_left_out
    return Outcome.DONE, f"{plural(left_out, 'event')} left out" if left_out else None


def _unfinished(why: str, events: EventCounts) -> str:
    """Finished work, and the command for the rest."""
    if events.n_units_planned is None:
        return why
    n_events = f"{events.n_events_read:,} of {plural(events.n_events_planned, 'event')}"
    units = f"{events.n_units_committed:,} of {plural(events.n_units_planned, 'unit')}"
    resume = "running the same command again, or forkrun resume RUNDIR, resumes the job"
    return f"{why}\n{units} ({n_events}) are done; {resume}"


def _totals(records: RunRecords, phases: Phases, children: tuple[ChildSummary, ...]) -> Totals:
    n_events = sum(line.n_events for line in records.ledger)
    processing_s = sum(child.processing_s for child in children)
    cpu_s = sum(child.cpu_s for child in children)
    calls = sum(child.read_calls for child in children)
    read_bytes = sum(child.read_bytes for child in children)
    threads = int(records.config.get("threads", {}).get("per_child", 1))
    return Totals(
        rate_events_per_s=ratio(n_events, phases.wall_s),
        event_loop_rate_events_per_s=ratio(n_events, phases.event_loop_s),
        processing_s=processing_s,
        thread_s=processing_s * threads,
        cpu_s=cpu_s,
        cpu_efficiency=ratio(cpu_s, processing_s * threads),
        read_calls=calls,
        read_bytes=read_bytes,
        mean_read_bytes=ratio(read_bytes, calls),
        cached_bytes=sum(child.cached_bytes for child in children),
        n_commits=len(records.ledger),
        events_per_commit=ratio(n_events, len(records.ledger)),
        largest_block=max((line.block_size for line in records.ledger), default=0),
        sampler=_sampler(records),
    )


def _sampler(records: RunRecords) -> dict[str, Any] | None:
    if records.sampler is None:
        return None
    return {**records.sampler, "children_cpu_s": sum(s.own_cost_s for s in records.samples)}
