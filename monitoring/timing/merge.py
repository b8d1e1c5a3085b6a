"""From what children left to `timing.json` and `trace.json` of the run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from msgspec import to_builtins

from forkrun.base.durable import write_json
from forkrun.base.regular_file import read_regular
from forkrun.errors import InputError
from forkrun.monitoring.timing.model import ModuleTiming, Stall, Timing
from forkrun.monitoring.timing.trace import write_trace
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import CUTFLOW_LABEL


class Commit(Protocol):
    """A unit of work that is done, with what it took."""

    @property
    def n_events(self) -> int: ...
    @property
    def cpu_s(self) -> float: ...
    @property
    def duration_s(self) -> float: ...


_SUMMED = ("count", "total_s", "cpu_s", "wait_inputs_s", "wait_queue_s")
MAX_STALLS = 200


def write_run_timing(
    run: Path, commits: Sequence[Commit], paths: Mapping[str, Sequence[str]]
) -> Timing | None:
    """Merges the timings of a run whose children have ended, and writes them; None where nothing
    was recorded. `commits` : of its ledger."""
    parts = [json.loads(read_regular(file)) for file in RunDirectory(run).child_timings()]
    if not parts:
        return None
    timing = merge_timing(parts, commits, paths)
    write_json(RunDirectory(run).timing, to_json(timing))
    write_trace(run, [module["label"] for module in parts[0]["modules"]])
    return timing


def read_timing(run: Path) -> Timing:
    """Reads the timing of a run directory. Raises InputError."""
    file = RunDirectory(run).timing
    try:
        return Timing.from_json(json.loads(read_regular(file)))
    except FileNotFoundError:
        raise InputError(
            f"{run}: no times of modules there: the job ran with monitoring.timing = false, or has"
            " not ended"
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{file}: cannot be read: {error}") from None


def merge_timing(
    parts: Sequence[Mapping[str, Any]],
    commits: Sequence[Commit],
    paths: Mapping[str, Sequence[str]],
) -> Timing:
    """The sum over children, which all have the same modules in the same order."""
    same_modules = zip(*(p["modules"] for p in parts), strict=True)
    modules = tuple(_module(same) for same in same_modules if not _is_counter(same[0]["label"]))
    n_events = sum(commit.n_events for commit in commits)
    cpu_s = sum(commit.cpu_s for commit in commits)
    overhead_s = max(cpu_s - sum(module.cpu_s for module in modules), 0.0)
    return Timing(
        n_events=n_events,
        cpu_s=cpu_s,
        wall_s=sum(commit.duration_s for commit in commits),
        overhead_s_per_event=overhead_s / n_events if n_events else 0.0,
        modules=modules,
        stalls=_stalls(parts),
        paths={name: tuple(labels) for name, labels in paths.items()},
        n_not_traced=sum(part["n_not_traced"] for part in parts),
    )


def to_json(timing: Timing) -> dict[str, Any]:
    """What `timing.json` holds (docs/timing.md)."""
    raw: dict[str, Any] = to_builtins(timing)
    raw["scheduler"] = {"overhead_s_per_event": raw.pop("overhead_s_per_event")}
    return raw


def _is_counter(label: str) -> bool:
    """Whether it is no module of the job's, but counts for its cutflow."""
    return label.startswith(CUTFLOW_LABEL)


def _module(parts: Sequence[Mapping[str, Any]]) -> ModuleTiming:
    sums = {key: sum(part[key] for part in parts) for key in _SUMMED}
    bins: Counter[float] = Counter()
    for part in parts:
        for start_s, count in part["bins"]:
            bins[start_s] += count
    first, longest_s = parts[0], max(part["max_s"] for part in parts)
    return ModuleTiming(
        label=first["label"],
        kind=first["kind"],
        concurrency=first["concurrency"],
        inputs=tuple(first["inputs"]),
        mean_s=sums["total_s"] / sums["count"] if sums["count"] else 0.0,
        p50_s=min(quantile(bins, 0.5), longest_s),
        p95_s=min(quantile(bins, 0.95), longest_s),
        max_s=longest_s,
        **sums,
    )


def quantile(bins: Mapping[float, int], share: float) -> float:
    """The middle of the bin that holds the quantile; bins are an eighth of a factor of two wide, so
    it is within 6 % of the true one. 0 for no entries."""
    left = share * sum(bins.values())
    for start_s in sorted(bins):
        left -= bins[start_s]
        if left <= 0:
            return start_s * 1.06
    return 0.0


def _stalls(parts: Sequence[Mapping[str, Any]]) -> tuple[Stall, ...]:
    counts: Counter[tuple[str, str]] = Counter()
    totals: Counter[tuple[str, str]] = Counter()
    for part in parts:
        for module, waited_for, count, total_s in part["stalls"]:
            if _is_counter(module):
                continue
            counts[module, waited_for] += count
            totals[module, waited_for] += total_s
    stalls = [Stall(*pair, counts[pair], total_s) for pair, total_s in totals.items()]
    return tuple(sorted(stalls, key=lambda stall: -stall.total_s)[:MAX_STALLS])
