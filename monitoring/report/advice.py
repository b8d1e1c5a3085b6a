"""Advice on making a job cheaper, with the figure that supports it and the largest possible
saving."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from forkrun.base.quantities import duration, percent, plural, seconds, size
from forkrun.monitoring.report.summary import Advice, Outcome, Summary
from forkrun.monitoring.timing.model import ModuleTiming, Timing

_WORTH = 0.05
"""Share of the job's time that deserves a remark."""
_SHORT_S = 5.0
"""Length of event loops below which a late child is chance, unless the reason is known."""
_MOST_OF_MODULES = 0.5
_BUSY = 0.6
"""Share of busy CPUs, or threads, above which more of them would help."""
_FEW = 3


class _Job(Struct, frozen=True):
    """A job, and its times for savings: sums over its sessions. `loop_s`: in event loops;
    `n_threads`: threads that process at the same time, on one node; `measured`: share of the events
    covered by times of modules and threads."""

    summary: Summary
    timing: Timing | None
    active_s: float
    loop_s: float
    n_threads: int
    measured: float

    @classmethod
    def of(cls, summary: Summary, timing: Timing | None) -> _Job:
        job, n_read = summary.job, summary.events.n_events_read
        loops = [node.event_loop_s or 0.0 for node in summary.nodes]
        return cls(
            summary,
            timing,
            summary.phases.active_s or 0.0,
            sum(loops) if loops else summary.phases.event_loop_s or 0.0,
            max(job.children // job.n_nodes, 1) * job.threads_per_child,
            timing.n_events / n_read if timing and n_read else 1.0,
        )

    def of_threads(self, time_s: float) -> float:
        """Time saved in the job if its threads take `time_s` less, summed over the measured ones
        [s]."""
        return min(time_s / max(self.measured, 1e-9) / self.n_threads, self.loop_s)

    @property
    def lacks_cpus(self) -> bool:
        """Whether there are more threads than CPUs, with busy CPUs."""
        n_cpus: int = (self.summary.job.host or {}).get("n_cpus", 0)
        busy = (self.summary.totals.cpu_efficiency or 0.0) * self.n_threads
        return 0 < n_cpus < self.n_threads and busy > _BUSY * n_cpus


def advise(summary: Summary, timing: Timing | None) -> tuple[Advice, ...]:
    """Advice on a job, sorted by saving, advice without a saving last; empty if nothing stands
    out."""
    if summary.job.outcome is Outcome.FAILED:  # the failure must be fixed first
        return ()
    job = _Job.of(summary, timing)
    found = [*_deaths(job), *_late(job), *_phases(job), *_threads(job), *_cpus(job)]
    found += [*_modules(job), *_unread(job), *_memory(job)]
    least_s = _WORTH * job.active_s
    worth = [each for each in found if each.saves_s is None or each.saves_s >= least_s]
    return tuple(sorted(worth, key=lambda each: -(each.saves_s or 0.0)))


def _deaths(job: _Job) -> Iterator[Advice]:
    died = job.summary.recovery
    lost_s = sum(each.lost_s for each in died)
    if lost_s:
        yield Advice(
            "What children that died had not committed was done again"
            f" ({plural(len(died), 'death')}): mend what ends them.",
            f"{seconds(lost_s)} s of work lost",
            "remarks",
            job.of_threads(lost_s * job.summary.job.threads_per_child * job.measured),
        )


def _late(job: _Job) -> Iterator[Advice]:
    share, late = job.summary.balance.utilization, job.summary.balance.late
    is_done = job.summary.job.outcome is Outcome.DONE
    if (
        job.summary.recovery
        or not is_done
        or share is None
        or late is None
        or not (late.reasons or job.loop_s >= _SHORT_S)
    ):
        return
    child = next(each for each in job.summary.children if each.child == late.child)
    is_fixed = child.n_units_planned is not None
    guided = ['forking.distribution = "guided" hands units to whichever child is idle']
    why = "; ".join([*late.reasons, *guided * is_fixed])
    yield Advice(
        f"Child {late.child} ended last, {seconds(late.after_s)} s after the first"
        + (f": {why}." if why else "."),
        f"utilization {percent(share)}",
        "activity",
        min((1.0 - share) * job.loop_s, late.after_s * job.summary.job.n_nodes),
    )


def _phases(job: _Job) -> Iterator[Advice]:
    phases = job.summary.phases
    steps = {
        "index and plan": phases.index_s,
        "modules and conditions": phases.modules_s,
        "forks": phases.fork_s,
        "the first event of all children": phases.first_event_s,
    }
    startup_s, merge_s = phases.startup_s or 0.0, phases.merge_s or 0.0
    if startup_s:
        most = max(steps, key=lambda name: steps[name] or 0.0)
        yield Advice(
            "Start-up is paid once a job: more events in one job share it.",
            f"start-up {seconds(startup_s)} of {seconds(job.active_s)} s, most for {most}",
            "phases",
            startup_s,
        )
    yield Advice(
        "The merge takes as long as outputs are large: half of the columns or events, half of it.",
        f"merge {seconds(merge_s)} of {seconds(job.active_s)} s",
        "phases",
        merge_s / 2,
    )


def _threads(job: _Job) -> Iterator[Advice]:
    """Advice on time of threads other than work. Not if children died or CPUs were too few: then
    threads waited for other reasons."""
    spent = job.summary.spent
    shares = spent.shares() if spent else {}
    if spent is None or not shares or job.summary.recovery or job.lacks_cpus:
        return
    yield _reading(job, spent.reading_s, shares["reading"])
    yield Advice(
        "Children write what is selected: a faster disk for the run directory (-o), or"
        " batch.scratch on nodes, shortens it.",
        f"{percent(shares['committing'])} of their threads' time",
        "activity",
        job.of_threads(spent.committing_s),
    )
    waiting_s = shares["waiting"] * spent.thread_s
    has_several = job.summary.job.threads_per_child > 1
    yield Advice(
        "Threads waited for each other, for inputs of modules or for Python's lock: children with"
        " one thread do not."
        if has_several
        else "Children had nothing to do: they waited for units, or to begin and to end.",
        f"{percent(shares['waiting'])} of their threads' time",
        "activity",
        job.of_threads(waiting_s),
    )
    if job.timing:
        idle_s = spent.processing_s - sum(
            each.cpu_s for each in job.timing.modules if each.kind != "source column"
        )
        yield Advice(
            "Modules waited, for a network, a disk or other programs, while no CPU worked for"
            " them: more children use the time.",
            f"{percent(idle_s / spent.thread_s)} of their threads' time in modules without a CPU",
            "modules",
            job.of_threads(idle_s) / 2,
        )


def _reading(job: _Job, reading_s: float, share: float) -> Advice:
    costs = job.summary.input.columns if job.summary.input else ()
    most = max(costs, key=lambda cost: cost.read_s, default=None)
    column = f", most for {most.column} ({duration(most.read_s)})" if most else ""
    return Advice(
        f"Children wait for the input {percent(share, 0)} of the time{column}: the disk or"
        " server that has it is what limits, unless fewer columns are read.",
        f"{duration(reading_s)} of waiting",
        "input",
        job.of_threads(reading_s),
    )


def _cpus(job: _Job) -> Iterator[Advice]:
    n_cpus = (job.summary.job.host or {}).get("n_cpus", 0)
    used = job.summary.totals.cpu_efficiency or 0.0
    if job.lacks_cpus:
        yield Advice(
            f"{plural(job.n_threads, 'thread')} share the {plural(n_cpus, 'CPU')} of this machine:"
            " as many as CPUs take the same time and less memory, unless they wait.",
            f"CPU efficiency {percent(used)}",
            "children",
        )
    elif job.n_threads < n_cpus and used >= _BUSY and not job.summary.nodes:
        yield Advice(
            f"{n_cpus - job.n_threads} of {plural(n_cpus, 'CPU')} had nothing to do: more children"
            " (--children) use them.",
            f"CPU efficiency {percent(used)} of {plural(job.n_threads, 'thread')}",
            "children",
            job.loop_s * (1.0 - job.n_threads / n_cpus),
        )


def _modules(job: _Job) -> Iterator[Advice]:
    timing = job.timing
    modules = [each for each in timing.modules if each.kind != "source column"] if timing else []
    if timing is None or not modules:
        return
    total_s = sum(module.total_s for module in timing.modules)
    slowest = max(modules, key=lambda module: module.total_s)
    if slowest.total_s > _MOST_OF_MODULES * total_s:
        yield Advice(
            f"{slowest.label} is where the time goes: {_costs(slowest, timing)}. Twice as fast, it"
            " takes half of the CPU time.",
            f"{percent(slowest.total_s / total_s)} of the time of all modules",
            "modules",
            job.of_threads(slowest.cpu_s / 2),
        )
    queued = max(modules, key=lambda module: module.wait_queue_s)
    has_several = job.summary.job.threads_per_child > 1 and not job.summary.recovery
    if queued.concurrency == "unsafe" and has_several:
        yield Advice(
            f"{queued.label} is called by one thread at a time, and calls wait for each other:"
            " a reentrant module, or more children with fewer threads, would not.",
            f"{duration(queued.wait_queue_s)} of waiting",
            "modules",
            job.of_threads(queued.wait_queue_s),
        )


def _costs(module: ModuleTiming, timing: Timing) -> str:
    if not timing.n_events:
        return plural(module.count, "call")
    all_s, cpu_s = (duration(time_s / timing.n_events) for time_s in (module.total_s, module.cpu_s))
    return f"{all_s} per event, {cpu_s} on a CPU, in {plural(module.count, 'call')}"


def _unread(job: _Job) -> Iterator[Advice]:
    """Advice on columns that are read but not used, however cheap."""
    costs = job.summary.input
    if costs is None or not costs.not_read or not job.summary.events.n_events_read:
        return
    unused = [each for each in costs.columns if each.column in costs.not_read]
    names = ", ".join(costs.not_read[:_FEW])
    names += f" and {len(costs.not_read) - _FEW} more" * (len(costs.not_read) > _FEW)
    verb = "is" if len(costs.not_read) == 1 else "are"
    total_s = sum(each.total_s for each in costs.columns)
    own_s = sum(each.total_s for each in unused)
    saves_s = job.of_threads(own_s)
    yield Advice(
        f"{names} {verb} read by nobody: modules have it in `consumes`, and never ask for it.",
        f"{size(sum(each.read_bytes for each in unused))} and"
        f" {percent(own_s / total_s if total_s else None)} of the time of columns",
        "input",
        saves_s if saves_s >= _WORTH * job.active_s else None,
    )


def _memory(job: _Job) -> Iterator[Advice]:
    memory, host = job.summary.memory, job.summary.job.host
    if memory is None or host is None or memory.peak.n_processes < 2:
        return
    peak, machine = memory.peak, host["memory_bytes"]
    private, n_children = peak.private_bytes / peak.n_processes, peak.n_processes - 1
    if private <= 0:
        return
    room = int((machine - peak.shared_bytes) / private) - 1  # the parent is one of them
    if room < max(2 * n_children, host["n_cpus"]):
        yield Advice(
            f"About {plural(room, 'child')} fit into the memory of this machine: each has"
            f" {size(private)} of its own.",
            f"{size(peak.pss_bytes)} of {size(machine)}",
            "memory",
        )
