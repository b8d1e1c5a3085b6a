"""What to do about a job that could be faster or smaller, each with the figure that says so."""

from __future__ import annotations

from collections.abc import Iterator

from forkrun.base.quantities import duration, percent, plural, seconds, size
from forkrun.monitoring.report.summary import Advice, Summary
from forkrun.monitoring.timing.model import ModuleTiming, Timing

_LEAST_S = 5.0
"""Length of an event loop below which its balance is mostly chance."""
_UNBALANCED = 0.85
_WAITING = 0.6
_MOST_OF_MODULES = 0.5
_QUEUE = 0.2
_READING = 0.1
"""Share of the threads' time that they may wait for the input unnoticed."""
_COMMITTING = 0.25
_FEW = 3
_LONG = 0.4
"""Share of a job that start-up or merge may take unnoticed."""


def advise(summary: Summary, timing: Timing | None) -> tuple[Advice, ...]:
    """Advice on a job, the most useful first; none if nothing stands out."""
    found = [*_balance(summary), *_waiting(summary), *_memory(summary), *_phases(summary)]
    return (*found, *(_modules(timing) if timing else ()), *_input(summary))


def _balance(summary: Summary) -> Iterator[Advice]:
    share, late = summary.balance.utilization, summary.balance.late
    length_s = summary.phases.event_loop_s or 0.0
    if share is None or late is None or share >= _UNBALANCED or length_s < _LEAST_S:
        return
    is_fixed = summary.children[late.child].n_units_planned is not None
    guided = ['forking.distribution = "guided" hands units to whichever child is idle']
    why = "; ".join([*late.reasons, *guided * is_fixed])
    yield Advice(
        f"Child {late.child} ended last, {seconds(late.after_s)} s after the first"
        + (f": {why}." if why else "."),
        f"utilization {percent(share)}",
        "activity",
    )


def _waiting(summary: Summary) -> Iterator[Advice]:
    totals, threads = summary.totals, summary.job.threads_per_child
    used, shares = totals.cpu_efficiency, summary.spent.shares() if summary.spent else {}
    if totals.processing_s < _LEAST_S:
        return
    n_cpus = (summary.job.host or {}).get("n_cpus", 0)
    lacks_cpus = 0 < n_cpus < summary.job.children // summary.job.n_nodes * threads
    waits_for_input = shares.get("reading", 0.0) >= _READING and not lacks_cpus
    if waits_for_input:
        yield _reading(summary, shares["reading"])
    elif shares.get("committing", 0.0) >= _COMMITTING:
        yield Advice(
            "Children write what is selected for much of their time: a faster disk for the run"
            " directory (-o), or batch.scratch on nodes, shortens it.",
            f"{percent(shares['committing'])} of their threads' time",
            "activity",
        )
    if used is None or used >= _WAITING or waits_for_input:
        return
    if lacks_cpus:
        what = f"There were more threads than the {n_cpus} CPUs of this machine"
    elif threads > 1:
        what = "Threads waited for each other or for input: children with one thread wait less"
    else:
        what = "Children waited for their input, or for CPUs that other programs used"
    yield Advice(f"{what}.", f"CPU efficiency {percent(used)}", "children")


def _reading(summary: Summary, share: float) -> Advice:
    costs = summary.input.columns if summary.input else ()
    most = max(costs, key=lambda cost: cost.read_s, default=None)
    column = f", most for {most.column} ({duration(most.read_s)})" if most else ""
    return Advice(
        f"Children wait for the input {percent(share, 0)} of the time{column}: the disk or"
        " server that has it is what limits, unless fewer columns are read.",
        f"{duration(summary.spent.reading_s if summary.spent else 0.0)} of waiting",
        "input",
    )


def _input(summary: Summary) -> Iterator[Advice]:
    """Columns that cost time and serve nobody, or most of the time."""
    if summary.input is None:
        return
    unused = summary.input.not_read
    if unused and summary.events.n_events_read:
        names = ", ".join(unused[:_FEW]) + (
            f" and {len(unused) - _FEW} more" * (len(unused) > _FEW)
        )
        verb = "is" if len(unused) == 1 else "are"
        cost = [each for each in summary.input.columns if each.column in unused]
        total_s = sum(each.total_s for each in summary.input.columns)
        yield Advice(
            f"{names} {verb} read by nobody: modules have it in `consumes`, and never ask for it.",
            f"{size(sum(each.read_bytes for each in cost))} and"
            f" {percent(sum(each.total_s for each in cost) / total_s if total_s else None)} of the"
            " time of columns",
            "input",
        )


def _memory(summary: Summary) -> Iterator[Advice]:
    memory, host = summary.memory, summary.job.host
    if memory is None or host is None or memory.peak.n_processes < 2:
        return
    peak, machine = memory.peak, host["memory_bytes"]
    private, n_children = peak.private_bytes / peak.n_processes, peak.n_processes - 1
    if private <= 0:
        return
    room = int((machine - peak.shared_bytes) / private) - 1  # the parent is one of them
    if room < max(2 * n_children, host["n_cpus"]):
        yield Advice(
            f"About {room:,} children fit into the memory of this machine: each has"
            f" {size(private)} of its own.",
            f"{size(memory.peak.pss_bytes)} of {size(machine)}",
            "memory",
        )


def _phases(summary: Summary) -> Iterator[Advice]:
    phases = summary.phases
    active_s = phases.active_s or 0.0
    if active_s < 2 * _LEAST_S:
        return
    if (phases.startup_s or 0.0) > _LONG * active_s:
        yield Advice(
            "The job is short beside its start: more events in one job pay for it.",
            f"start-up {seconds(phases.startup_s)} of {seconds(active_s)} s",
            "phases",
        )
    if (phases.merge_s or 0.0) > _LONG * active_s:
        yield Advice(
            "The merge takes much of the job: outputs that keep fewer columns are merged sooner.",
            f"merge {seconds(phases.merge_s)} of {seconds(active_s)} s",
            "phases",
        )


def _modules(timing: Timing) -> Iterator[Advice]:
    modules = [module for module in timing.modules if module.kind != "source column"]
    total_s = sum(module.total_s for module in timing.modules)
    if not modules or total_s < 1.0:
        return
    slowest = max(modules, key=lambda module: module.total_s)
    if slowest.total_s > _MOST_OF_MODULES * total_s:
        yield Advice(
            f"{slowest.label} is where the time goes: {_costs(slowest, timing)}.",
            f"{percent(slowest.total_s / total_s)} of the time of all modules",
            "modules",
        )
    queued = max(modules, key=lambda module: module.wait_queue_s)
    if queued.concurrency == "unsafe" and queued.wait_queue_s > _QUEUE * total_s:
        yield Advice(
            f"{queued.label} is called by one thread at a time, and calls wait for each other:"
            " a reentrant module, or more children with fewer threads, would not.",
            f"{duration(queued.wait_queue_s)} of waiting",
            "modules",
        )


def _costs(module: ModuleTiming, timing: Timing) -> str:
    per_event = duration(module.total_s / timing.n_events) if timing.n_events else "-"
    return f"{per_event} per event in {plural(module.count, 'call')}"
