"""Sections of a report: first problems, then use of time and memory. Text and page show all,
notebooks some. A new table is a function in `tables` or `memory_detail`, named here."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from forkrun.base.quantities import (
    count,
    duration,
    megabytes,
    percent,
    plural,
    seconds,
    size,
)
from forkrun.monitoring.report import tables
from forkrun.monitoring.report.memory_detail import became_private, by_kind, by_owner, by_use
from forkrun.monitoring.tables import Fact, Facts, Part, Section, rate

Json = Mapping[str, Any]

MOST_ADVICE = 3
_MOST_HELP = 6
"""Most lines of the job's messages about its failure."""
_MOST_LINES = 12
_MOST_ROOTS = 8
_FEW_EVENTS = 2000
"""Events per commit below which calls of Python modules cost more than their events."""


def sections_of(
    report: Json, timing: Json | None, start_s: float, problem: str = ""
) -> list[Section]:
    """All sections. `report`, `timing`: as in the JSON files; `problem`: reason for missing timing;
    `start_s`: of the job, since the epoch."""
    return [
        Section("overview", "Overview", overview(report)),
        Section("remarks", "Remarks", remarks(report, start_s)),
        Section("memory", "Memory", memory(report)),
        Section("activity", "Activity", [*_activity(report), tables.spent(report)]),
        Section("phases", "Phases", [_added_up(report), tables.phases(report)]),
        Section("sessions", "Sessions", [_sessions(report), tables.sessions(report, start_s)]),
        Section("nodes", "Nodes", [tables.nodes(report)]),
        Section("children", "Children", [tables.children(report)]),
        Section(
            "modules", "Modules", [*modules(timing, report["events"]["n_events_read"]), problem]
        ),
        Section("input", "Input", [tables.columns_read(report), _not_read(report)]),
        Section("outputs", "Outputs", [tables.outputs(report)]),
        Section("results", "Results", [tables.results(report)]),
        Section("cutflow", "Cutflow", tables.cutflow(report["cutflow"])),
        Section("datasets", "Datasets", [tables.datasets(report["datasets"])]),
        Section("histograms", "Histograms", []),
        Section("facts", "Job", [Facts([*_job(report)])]),
    ]


def outcome_of(report: Json) -> str:
    """Outcome in words; failures in capitals."""
    outcome = report["job"]["outcome"]
    return "done and verified" if outcome == "done" else str(outcome).upper()


def problem_of(report: Json) -> list[str]:
    """Description of the failure, and further messages of the job; empty without a failure."""
    job = report["job"]
    return [*(job["problem"] or "").splitlines(), *job["help"][:_MOST_HELP]]


def shape_of(job: Json) -> str:
    """Shape of the job: `4 nodes × 2 children × 1 thread`."""
    n, each = job["n_nodes"], job["children"] // job["n_nodes"]
    nodes = f"{plural(n, 'node')} × " if n > 1 else ""
    children = f"{count(each)} child{'ren' * (each != 1)}"
    return f"{nodes}{children} × {plural(job['threads_per_child'], 'thread')}"


def peak_of(memory: Json) -> str:
    """Highest sum of PSS, in words."""
    return ("at least " if memory.get("is_at_least") else "") + size(memory["peak"]["pss_bytes"])


def digests_of(events: Json) -> str:
    """Agreement of the digests; "" while units are missing."""
    return {True: "digests agree", False: "DIGESTS DIFFER"}.get(events["digests_agree"], "")


def overview(report: Json) -> list[Part]:
    """Cost, most useful advice, and the most wanted figures."""
    cost = [Fact("Cost", report["cost"])] if report["cost"] else []
    return [
        Facts(cost),
        Facts([*advice(report)][:MOST_ADVICE], "steps", "What would make it cheaper"),
        Facts([*_figures(report)], "tiles"),
    ]


def _figures(report: Json) -> Iterator[Fact]:
    job, events, totals = report["job"], report["events"], report["totals"]
    proof = digests_of(events) or "some are missing"
    planned = f"of {count(events['n_events_planned'])} planned, {proof}"
    loops = f"{rate(totals['event_loop_rate_events_per_s'])} /s in the event loops"
    wall = f"{duration(report['phases']['wall_s'])} in all"
    yield Fact("events read", count(events["n_events_read"]), planned)
    yield Fact("rate", f"{rate(totals['rate_events_per_s'])} /s", f"{loops}, {wall}")
    yield Fact("utilization", percent(report["balance"]["utilization"]), f"of {shape_of(job)}")
    yield Fact(
        "CPU efficiency", percent(totals["cpu_efficiency"]), f"{duration(totals['cpu_s'])} on CPUs"
    )
    if memory := report["memory"]:
        saved = f"of {peak_of(memory)} at the peak; sharing saves {size(memory['saving_bytes'])}"
        yield Fact("shared", size(memory["peak"]["shared_bytes"]), saved)


def advice(report: Json) -> Iterator[Fact]:
    """Advice, sorted by saving, with the largest possible saving or the measured figure."""
    active_s = report["phases"]["active_s"]
    for n, each in enumerate(report.get("advice", ())):
        figure = each["figure"]
        if each["saves_s"] is not None and active_s:
            figure = f"saves up to {_time(min(each['saves_s'], active_s))} of {_time(active_s)}"
        name = {0: "Cheaper", MOST_ADVICE: "Advice"}.get(n, "")
        yield Fact(name, each["text"], figure, each["section"])


def cost_in_words(report: Json) -> str:
    """Cost in words. `report`: report.json, possibly incomplete."""
    job, phases, totals = report["job"], report["phases"], report["totals"]
    wall_s, active_s, n_nodes = phases["wall_s"], phases["active_s"], job["n_nodes"]
    if wall_s is None or active_s is None:
        return ""
    threads = plural(max(job["children"] // n_nodes, 1) * job["threads_per_child"], "thread")
    on_nodes = n_nodes > 1
    parts = [
        f"{_time(wall_s)} by the clock",
        threads
        + f" on {plural(n_nodes, 'node')}" * on_nodes
        + f" for {_time(active_s)}"
        + " in all" * on_nodes,
        f"{_time(totals['cpu_s'])} on CPUs in event loops",
    ]
    if memory := report["memory"]:
        parts.append(f"{peak_of(memory)} of memory{' on a node' * on_nodes}")
    return " · ".join([*parts, f"{size(totals['read_bytes'])} read"])


def _time(time_s: float) -> str:
    if time_s < 600:
        return f"{seconds(time_s)} s"
    return f"{time_s / 60:.1f} min" if time_s < 7200 else f"{time_s / 3600:.1f} h"


def remarks(report: Json, start_s: float = 0.0) -> list[Part]:
    """Warnings, advice and notes for the user's attention."""
    events = report["events"]
    begun = [f"{duration(each['time_s'] - start_s)}: {each['text']}" for each in report["recovery"]]
    warnings = [*not_numbers(events), *report["warnings"]]
    return [
        Facts.lines("To do", [*_to_do(events)]),
        Facts.lines("LEFT OUT", [*left_out(events)], "Events left out", _MOST_LINES),
        Facts.lines("Warnings", warnings, most=_MOST_LINES),
        Facts.lines("Recovery", begun, most=_MOST_LINES),
        Facts.lines("Damaged", report["damaged"], "Records that could not be read", _MOST_LINES),
        Facts([*advice(report)][MOST_ADVICE:], "lines", "More advice"),
        Facts.lines("Notes", [*_dropped(events), *report["notes"]], "Of the input"),
    ]


def _to_do(events: Json) -> Iterator[str]:
    if events["n_units_committed"] != events["n_units_planned"]:
        done = count(events["n_units_committed"])
        yield (
            f"committed {done} of {plural(events['n_units_planned'], 'unit')}, safe in the run"
            " directory; for the rest, run the same command again, or forkrun resume RUNDIR"
        )


def left_out(events: Json) -> Iterator[str]:
    """Lines on events that crash the child, and the command that repeats one."""
    found = events["left_out"]
    if found:
        again = f"forkrun run RUNDIR/config.json --only {found[0]['event']} --children 0"
        yield f"{count(events['n_events_left_out'])} that crash the child; try one alone: {again}"
    for each in found:
        yield f"{each['event']} (entry {each['entry']} of {each['file']}): {each['cause']}"


def not_numbers(events: Json) -> Iterator[str]:
    """Lines on histograms with infinite or NaN values."""
    for name, n in events["not_finite"].items():
        what = f"histogram {name}: {count(n)} of the values summed are infinite or NaN"
        yield f"{what}, and so are its bins"
    for name, n in events.get("nan_fills", {}).items():
        what = f"{count(n)} NaN {'was' if n == 1 else 'were'} filled into the overflow"
        yield f"histogram {name}: {what}; isnan(x) finds them"


def _dropped(events: Json) -> Iterator[str]:
    if n := events["n_events_dropped"]:
        yield f"dropped {count(n)} that are in the input before (source.duplicates)"
    if n := events["n_events_without_partner"]:
        yield f"dropped {count(n)} that have no entry in a friend (source.friends)"


def _memory(report: Json) -> Iterator[Fact]:
    memory = report["memory"]
    if not memory:
        yield Fact("memory", "not sampled")
        return
    peak = memory["peak"]
    where = "" if memory["node"] is None else f" of node {memory['node']}, which has most"
    n_processes = plural(peak["n_processes"], "process") + where
    yield Fact("peak memory", peak_of(memory), f"in {n_processes}, as real memory (PSS)")
    saved = percent(memory["saving_fraction"], 0)
    separate = f"{saved} less than as separate processes, with {size(peak['rss_bytes'])} (RSS)"
    yield Fact("sharing saves", size(memory["saving_bytes"]), separate)
    if memory["all_nodes_bytes"] is not None:
        saved = f"at their peaks: sharing saves {size(memory['all_nodes_saving_bytes'])}"
        yield Fact("all nodes", size(memory["all_nodes_bytes"]), saved)
    if sampler := report["totals"]["sampler"]:
        stop = f"no sample stopped a child for more than {1e3 * sampler['longest_stop_s']:.1f} ms"
        cost = f"{duration(sampler['cpu_s'])}, {percent(sampler['cpu_fraction'], 2)} of a CPU"
        samples = plural(sampler["n_samples"], "sample")
        yield Fact("sampler", samples, f"took {cost}; {stop}")


def memory(report: Json) -> list[Part | None]:
    """Memory of all processes, and its kinds if requested."""
    detail = memory_detail(report["memory_detail"])
    return [Facts([*_memory(report)]), tables.memory(report), *detail]


def memory_detail(detail: Json | None, most: int = _MOST_LINES) -> list[Part]:
    """Memory by kind; which became private since the fork, and why. `most`: rows of a table."""
    if detail is None:
        return []
    sizes = sorted(detail["private_bytes_by_child"].values()) or [0]
    own_bytes, whole = detail["private_bytes_per_child"], detail["at_fork_bytes"]
    said = (
        f"At the fork {plural(detail['n_children'], 'child')} shared {megabytes(whole)} of"
        f" anonymous memory with their parent. {megabytes(own_bytes)} of it"
        f" ({percent(own_bytes / max(whole, 1), 2)}) became private, on average; from"
        f" {megabytes(sizes[0])} to {megabytes(sizes[-1])}."
    )
    imports = [_imported(label, names) for label, names in detail["imports"].items()]
    summed = [table(detail) for table in (by_kind, by_use, by_owner)]
    return [said, *imports, *summed, became_private(detail, most)]


def _imported(label: str, names: Sequence[str]) -> str:
    """Imports done by each child itself, in words."""
    who = f'module "{label}"' if label else "no module of the job"
    roots = list(dict.fromkeys(name.partition(".")[0] for name in names))
    some = ", ".join(roots[:_MOST_ROOTS]) + (", …" if len(roots) > _MOST_ROOTS else "")
    return (
        f"{who} imported {plural(len(names), 'Python module')} in each child, after the fork:"
        f" {some}; import them at the top of its file, which the parent reads"
    )


def _activity(report: Json) -> Iterator[Part]:
    late = report["balance"]["late"]
    if late:
        why = f": {'; '.join(late['reasons'])}" if late["reasons"] else ""
        yield f"Child {late['child']} ended last, {duration(late['after_s'])} after the first{why}."
    yield Facts([*_work(report)])


def _work(report: Json) -> Iterator[Fact]:
    balance, totals = report["balance"], report["totals"]
    if times := balance["processing_times"]:
        span = f"{seconds(times['min_s'])} to {seconds(times['max_s'])} s"
        yield Fact("processing time", span, f"relative spread {percent(times['relative_std'])}")
    if ends := balance["end_times"]:
        yield Fact("end", f"the last child {seconds(ends['range_s'])} s after the first")
    reads = f"in {plural(totals['read_calls'], 'call')}, {size(totals['mean_read_bytes'])} each"
    if totals["cached_bytes"]:
        reads += f"; of remote files {size(totals['cached_bytes'])} more from this machine's cache"
    yield Fact("read", size(totals["read_bytes"]), reads)
    if totals["events_per_commit"] is not None:
        largest, n = totals["largest_block"], totals["n_commits"]
        block = f"up to {plural(largest, 'event')}" if largest else "cache-sized"
        commits = f"{plural(n, 'commit')} of {plural(int(totals['events_per_commit']), 'event')}"
        if n > 100 and largest and totals["events_per_commit"] < _FEW_EVENTS:
            why = "few events per call of a Python module: docs/modules.md says why, under Blocks"
            commits += f"; {why}"
        yield Fact("blocks", block, commits)


def _added_up(report: Json) -> str:
    phases, n = report["phases"], len(report["sessions"])
    if n < 2:
        return ""
    active, wall = duration(phases["active_s"]), duration(phases["wall_s"])
    return f"Times of {plural(n, 'session')}, added up: {active}. The whole job took {wall}."


def _sessions(report: Json) -> str:
    n, gaps_s = len(report["sessions"]), report["phases"]["gaps_s"]
    gaps = (
        f"; for {duration(gaps_s)} none ran, which counts in no time and no rate" if gaps_s else ""
    )
    return f"{plural(n, 'session')}{gaps}." if n > 1 else ""


def modules(timing: Json | None, n_events_read: int) -> list[Part]:
    """Times of modules, the number of events covered, and the CPU time outside modules.
    `n_events_read`: of the whole job."""
    if timing is None:
        return []
    said = []
    if timing["n_events"] < n_events_read:
        said.append(
            f"Times are those of {count(timing['n_events'])} of {plural(n_events_read, 'event')}: a"
            " process that is killed leaves none."
        )
    if (outside := timing["overhead_s_per_event"]) is not None:
        said.append(f"CPU outside of modules: {duration(outside)} per event.")
    said.append("Times are summed over children and threads.")
    return [tables.modules(timing), tables.stalls(timing), " ".join(said)]


def _not_read(report: Json) -> str:
    names = (report["input"] or {}).get("not_read")
    return f"Read by nobody, though modules name them: {', '.join(names)}." if names else ""


def _job(report: Json) -> Iterator[Fact]:
    job, events, host = report["job"], report["events"], report["job"]["host"] or {}
    ahead = " and one that reads ahead" * job["reads_ahead"]
    yield Fact(
        "job", f"{shape_of(job)}{ahead} · {job['executor']} · distribution {job['distribution']}"
    )
    words = {"lumi": "each lumi in one piece", "sorted": "sorted by run and lumi"}
    order = f"; {words[job['order']]}, for {job['order_reason']}" if job["order"] in words else ""
    counts = {
        "file": events["n_files"],
        "lumi": events["n_lumis_planned"],
        "unit": events["n_units_planned"],
    }
    yield Fact(
        "input", f"{', '.join(plural(n, what) for what, n in counts.items())} of work{order}"
    )
    if told := _shared_histograms(job["shared_histograms"]):
        yield Fact("histograms that threads fill", told)
    if host:
        yield Fact("command", shlex.join(host["command"]))
        yield Fact("directory", host["directory"])
        cpus = f"{host['n_cpus']} × {host['cpu']}"
        yield Fact(
            "machine", f"{host['name']} · {cpus} · {size(host['memory_bytes'])} · {host['kernel']}"
        )
        yield Fact("versions", " · ".join(f"{name} {of}" for name, of in host["versions"].items()))
    yield Fact("configuration", f"SHA-256 {job['config_digest']}")


def _shared_histograms(histograms: list[Json]) -> str:
    """Number of histograms in each kind of memory, and their sizes."""
    texts = []
    for memory, each in (("copy", " per thread"), ("buffered", ""), ("shared", "")):
        found = [h["bytes"] for h in histograms if h["memory"] == memory]
        if found:
            texts.append(f"{len(found)} {memory}, {size(sum(found))}{each}")
    return " · ".join(texts)
