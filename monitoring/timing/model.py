"""Times of modules as plain frozen values, which docs/monitoring.md describes, and their sums over
children: `timing.json` and `trace.json` of the run."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from msgspec import Struct, convert, to_builtins

from forkrun.base.durable import write_json
from forkrun.base.regular_file import read_regular
from forkrun.errors import InputError
from forkrun.monitoring.timing.record import SpentTime, write_trace
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import CUTFLOW_LABEL


class ModuleTiming(Struct, frozen=True):
    """All calls of one module, or of the reading of one column. Times in s. `cpu_s` : of the thread
    in those calls, from a sample of them. `wait_inputs_s` : requested, but inputs not made yet;
    `wait_queue_s` : inputs made, but waiting for its turn. `inputs` : labels of the makers of its
    inputs."""

    label: str
    kind: str
    concurrency: str
    inputs: tuple[str, ...]
    count: int
    total_s: float
    mean_s: float
    p50_s: float
    p95_s: float
    max_s: float
    cpu_s: float
    wait_inputs_s: float
    wait_queue_s: float
    bins: tuple[tuple[float, int], ...] = ()
    """Begin [s] and number of calls of the bins with calls."""


class ColumnCost(Struct, frozen=True):
    """Cost of reading one column. `read_calls`, `read_bytes`: reads of files for it; `unpack_s`:
    uncompressing; `decode_s`: all else. `column` is "" for the common part of all columns: event
    ids, and records that hold several columns; `n_blocks` then counts loaded blocks."""

    column: str
    n_blocks: int
    read_calls: int
    read_bytes: int
    read_s: float
    packed_bytes: int
    unpacked_bytes: int
    unpack_s: float
    decode_s: float
    total_s: float


class InputCosts(Struct, frozen=True):
    """Costs of the input, summed over children, threads and nodes. `n_events`: number of events
    read; `not_read`: columns read because modules in Python declare them, but never used; `asked`:
    columns used, by module."""

    n_events: int = 0

    columns: tuple[ColumnCost, ...] = ()
    common: ColumnCost | None = None
    not_read: tuple[str, ...] = ()
    asked: Mapping[str, tuple[str, ...]] = {}


class Stall(Struct, frozen=True):
    """Number and length of waits of `module` for inputs of which `waited_for` came last."""

    module: str
    waited_for: str
    count: int
    total_s: float


class Timing(Struct, frozen=True):
    """Timing of a whole run. A killed process leaves no times: `n_events`, `cpu_s` and `wall_s` are
    sums over the others, each from the start of processing to the end of its work.
    `overhead_s_per_event` : CPU outside of modules, per event; None if calls of modules contain
    others, so that their sum is larger. `n_not_traced` : calls missing in the trace for lack of
    space."""

    n_events: int
    cpu_s: float
    wall_s: float
    overhead_s_per_event: float | None
    modules: tuple[ModuleTiming, ...]
    stalls: tuple[Stall, ...]
    paths: Mapping[str, tuple[str, ...]]
    n_not_traced: int
    input: InputCosts = InputCosts()
    spent: SpentTime = SpentTime()

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Timing:
        """Makes the timing from the content of a `timing.json`."""
        return convert({**raw, **raw["scheduler"]}, cls)


_SUMMED = ("count", "total_s", "cpu_s", "wait_inputs_s", "wait_queue_s")
MAX_STALLS = 200


def write_run_timing(
    run: Path,
    paths: Mapping[str, Sequence[str]],
    of_nodes: Sequence[Mapping[str, Any]] = (),
) -> Timing | None:
    """Merges the timings of a run whose children have ended, and writes them; None without records.
    `of_nodes`: contents of their timing.json."""
    files = RunDirectory(run).child_timings()
    found = (json.loads(read_regular(file)) for file in files)
    own = [part for part in found if "n_events" in part]  # earlier versions did not record it
    parts = [*own, *map(as_part, of_nodes)]
    if not parts:
        return None
    timing = merge_timing(parts, paths)
    write_json(RunDirectory(run).timing, to_json(timing), indent=None)
    if own:
        write_trace(run, [module["label"] for module in own[0]["modules"]])
    return timing


def as_part(timing: Mapping[str, Any]) -> dict[str, Any]:
    """A timing.json in the form of a child's record, for merging."""
    costs = {cost["column"]: cost for cost in timing.get("input", {}).get("columns", ())}
    nothing = dict.fromkeys((*_INPUT, "total_s"), 0)
    modules = []
    for module in timing["modules"]:
        cost = costs.get(module["label"], nothing)
        shared_s = module["total_s"] - cost["total_s"] if cost is not nothing else 0.0
        is_column = module["kind"] == "source column" and "input" in timing
        modules.append({**module, "input": {**cost, "shared_s": shared_s}} if is_column else module)
    common = timing.get("input", {}).get("common")
    stalls = [[s["module"], s["waited_for"], s["count"], s["total_s"]] for s in timing["stalls"]]
    asked = timing.get("input", {}).get("asked", {})
    part = {**timing, "modules": modules, "stalls": stalls, "asked": asked}
    return {**part, "loading": {**common, "count": common["n_blocks"]}} if common else part


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
    paths: Mapping[str, Sequence[str]],
) -> Timing:
    """Sum over processes of children, which all have the same modules in the same order."""
    same_modules = zip(*(p["modules"] for p in parts), strict=True)
    modules = tuple(_module(same) for same in same_modules if not _is_counter(same[0]["label"]))
    n_events = sum(part["n_events"] for part in parts)
    cpu_s = math.fsum(part["cpu_s"] for part in parts)
    outside_s = cpu_s - math.fsum(module.cpu_s for module in modules)
    return Timing(
        n_events=n_events,
        cpu_s=cpu_s,
        wall_s=math.fsum(part["wall_s"] for part in parts),
        overhead_s_per_event=outside_s / n_events if n_events and outside_s >= 0 else None,
        modules=modules,
        stalls=_stalls(parts),
        paths={name: tuple(labels) for name, labels in paths.items()},
        n_not_traced=sum(part["n_not_traced"] for part in parts),
        input=_input(parts),
        spent=_spent(parts),
    )


def to_json(timing: Timing) -> dict[str, Any]:
    """Content of `timing.json` (docs/monitoring.md)."""
    raw: dict[str, Any] = to_builtins(timing)
    raw["scheduler"] = {"overhead_s_per_event": raw.pop("overhead_s_per_event")}
    return raw


def _is_counter(label: str) -> bool:
    """Whether the label belongs to the cutflow's counters and not to a module of the job."""
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
        bins=tuple(sorted(bins.items())),
        **sums,
    )


_INPUT = ("read_calls", "read_bytes", "read_s", "packed_bytes", "unpacked_bytes", "unpack_s")


def _input(parts: Sequence[Mapping[str, Any]]) -> InputCosts:
    """Costs by column, from children that measured them: earlier versions did not."""
    columns: dict[str, list[Mapping[str, Any]]] = {}
    for part in parts:
        for module in part["modules"]:
            if "input" in module:
                cost = {key: module["input"][key] for key in (*_INPUT, "shared_s")}
                columns.setdefault(module["label"], []).append({**module, **cost})
    costs = {name: _cost(name, same) for name, same in columns.items()}
    loading = [part["loading"] for part in parts if "loading" in part]
    return InputCosts(
        n_events=sum(part["n_events"] for part in parts),
        columns=tuple(cost for cost in costs.values() if cost.n_blocks),
        common=_cost("", loading) if loading else None,
        not_read=tuple(_not_read(parts[0]["modules"], costs, asked := _asked(parts))),
        asked={label: tuple(sorted(columns)) for label, columns in asked.items()},
    )


def _asked(parts: Sequence[Mapping[str, Any]]) -> dict[str, set[str]]:
    asked: dict[str, set[str]] = {}
    for part in parts:
        for label, columns in part.get("asked", {}).items():
            asked.setdefault(label, set()).update(columns)
    return asked


def _not_read(
    modules: Sequence[Mapping[str, Any]],
    costs: Mapping[str, ColumnCost],
    asked: Mapping[str, Set[str]],
) -> Iterator[str]:
    """Columns read only for modules in Python that never used them."""
    readers: dict[str, list[str]] = {}
    for module in modules:
        for column in module["inputs"]:
            readers.setdefault(column, []).append(module["label"])
    for name, cost in costs.items():
        of_column = readers.get(name, [])
        is_known = cost.n_blocks and of_column and set(of_column) <= asked.keys()
        if is_known and not any(name in asked[label] for label in of_column):
            yield name


def _cost(column: str, parts: Sequence[Mapping[str, Any]]) -> ColumnCost:
    sums = {key: sum(part[key] for part in parts) for key in _INPUT}
    total_s = sum(part["total_s"] - part.get("shared_s", 0.0) for part in parts)
    return ColumnCost(
        column=column,
        n_blocks=sum(part["count"] for part in parts),
        decode_s=max(total_s - sums["read_s"] - sums["unpack_s"], 0.0),
        total_s=total_s,
        **sums,
    )


def _spent(parts: Sequence[Mapping[str, Any]]) -> SpentTime:
    known = [convert(part["spent"], SpentTime) for part in parts if "spent" in part]
    names = [name for name in SpentTime.__struct_fields__ if name != "n_events"]
    sums = {name: math.fsum(getattr(each, name) for each in known) for name in names}
    return SpentTime(**sums, n_events=sum(each.n_events for each in known))


def quantile(bins: Mapping[float, int], share: float) -> float:
    """Middle of the bin with the quantile; bins are an eighth of a factor of two wide, so it is
    accurate within 6 %. 0 without entries."""
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
