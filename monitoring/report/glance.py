"""What people want to know first: what it cost, and what would make it cheaper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from forkrun.base.quantities import plural, seconds, size
from forkrun.monitoring.report.memory import peak_text

MOST_ADVICE = 3
MOST_HELP = 6
"""Lines of what the job said of its failure."""


def cost_in_words(report: Mapping[str, Any]) -> str:
    """`report`: as in report.json, as far as it is made."""
    job, phases, totals = report["job"], report["phases"], report["totals"]
    wall_s, active_s = phases["wall_s"], phases["active_s"]
    if wall_s is None or active_s is None:
        return ""
    n_threads = max(job["children"] // job["n_nodes"], 1) * job["threads_per_child"]
    parts = [
        f"{_time(wall_s)} by the clock",
        f"{plural(n_threads, 'thread')} for {_time(active_s)}"
        if job["n_nodes"] == 1
        else f"{plural(n_threads, 'thread')} on {plural(job['n_nodes'], 'node')} for"
        f" {_time(active_s)} in all",
        f"{_time(totals['cpu_s'])} on CPUs in event loops",
    ]
    if memory := report["memory"]:
        peak = peak_text(memory["peak"]["pss_bytes"], memory["is_at_least"])
        parts.append(f"{peak} of memory{' on a node' * (job['n_nodes'] > 1)}")
    parts.append(f"{size(totals['read_bytes'])} read")
    return " · ".join(parts)


def _time(time_s: float) -> str:
    if time_s < 600:
        return f"{seconds(time_s)} s"
    return f"{time_s / 60:.1f} min" if time_s < 7200 else f"{time_s / 3600:.1f} h"


def cheaper(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What would save most, and how much of the job's time, largest first."""
    active_s = report["phases"]["active_s"]
    for advice in report.get("advice", ())[:MOST_ADVICE]:
        yield advice["text"], saving(advice["saves_s"], active_s)


def saving(saves_s: float | None, active_s: float | None) -> str:
    """`saves up to 1.2 s of 4.7 s`; "" where no time is saved."""
    if saves_s is None or not active_s:
        return ""
    return f"saves up to {_time(min(saves_s, active_s))} of {_time(active_s)}"
