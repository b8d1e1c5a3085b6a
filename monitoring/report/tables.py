"""Tables of a report from report.json and timing.json, one function each, for all presentations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from forkrun.base.quantities import DASH, date, plural
from forkrun.monitoring.tables import Column, Part, Table, cell, ratio
from forkrun.rundir.results import Origin

Json = Mapping[str, Any]

_MOST_ROWS = 12
_MOST_CHILDREN = 32
_MOST_LINES = 100
_MOST_DATASETS = 4
"""Most datasets in one table."""


def children(report: Json) -> Table:
    columns = (
        Column("child", "child", "count"), Column("status", "status", bad="failed"),
        Column("n_units", "units", "count", 1, whole="n_units_planned"),
        Column("n_events", "events", "count"), Column("rate_events_per_s", "rate", "rate"),
        Column("first_event_s", "first event", "time", 3), Column("end_s", "end", "time", 1),
        Column("processing_s", "processing", "time", word="processing time", bar=True),
        Column("cpu_efficiency", "CPU", "share", 2, "CPU efficiency"),
        Column("read_calls", "read calls", "count", 4), Column("read_bytes", "read", "size", 1),
        Column("peak_pss_bytes", "peak PSS", "size", word="PSS"),
        Column("peak_uss_bytes", "private", "size"),
    )  # fmt: skip
    return Table("Children", columns, report["children"], _MOST_CHILDREN)


def nodes(report: Json) -> Table:
    """Work of the children of each node."""
    rows = [
        {
            **node,
            "rate": ratio(node["n_events"], node["event_loop_s"]),
            "parts": len(node["sessions"]),
        }
        for node in report["nodes"]
    ]
    columns = (
        Column("node", "node", "count"), Column("n_units", "units", "count"),
        Column("n_events", "events", "count"),
        Column("rate", "in its event loops", "rate", word="rate"),
        Column("first_event_s", "first event", "time", 3), Column("end_s", "end", "time", 1),
        Column("queue_s", "in the queue", "time", 1),
        Column("phases.active_s", "active time", "time"),
        Column("phases.startup_s", "start-up", "time", 2),
        Column("processing_s", "processing time", "time", 3), Column("cpu_s", "CPU", "time", 2),
        Column("read_bytes", "read", "size", 2),
        Column("n_deaths", "children that failed", "count", bad="n_deaths"),
        Column("host", "machine", detail=3), Column("parts", "sessions", "count", 3),
        Column("gaps_s", "gaps", "time", 3),
        Column("memory.peak.pss_bytes", "peak PSS", "size", word="PSS"),
        Column("memory.peak.shared_bytes", "shared", "size", 2),
    )  # fmt: skip
    return Table("Nodes", columns, rows, _MOST_ROWS)


def sessions(report: Json, start_s: float) -> Table | None:
    """Sessions of a resumed job, or of all nodes."""
    if len(report["sessions"]) < 2:
        return None
    several = bool(report["nodes"])
    rows = [
        {
            **each,
            "place": ("collecting" if each["node"] is None else each["node"]) if several else None,
            "begin_s": each["start_s"] - start_s,
            "length_s": each["end_s"] - each["start_s"],
            "ended": each["outcome"] or "killed, or runs",
            "bad": each["outcome"] != "ok",
        }
        for each in report["sessions"]
    ]
    columns = (
        Column("place", "node", "text"), Column("begin_s", "begin", "time"),
        Column("length_s", "length", "time"), Column("n_units", "units", "count"),
        Column("n_events", "events", "count"),
        Column("ended", "ended", word="session ended", bad="bad"),
    )  # fmt: skip
    return Table("Sessions", columns, rows, _MOST_ROWS)


def results(report: Json) -> Table | None:
    """Runs that computed each result, if there are earlier ones."""
    found = report["results"]
    runs = {(run["computed_s"], run["build"]) for each in found for run in each["runs"]}
    if len(runs) < 2 and not any(each["is_kept"] for each in found):
        return None
    rows = [
        {
            **run,
            "name": "" if n else each["name"],
            "computed": date(run["computed_s"]) if run["computed_s"] else "unknown",
            "how": ("kept" if each["is_kept"] else "computed") * (n == 0),
            "agree": "" if n else {True: "agrees", False: "DIFFERS"}.get(each["digests_agree"], ""),
            "differs": each["digests_agree"] is False,
        }
        for each in found
        for n, run in enumerate(each["runs"] or [dict.fromkeys(Origin.__struct_fields__)])
    ]
    columns = (
        Column("name", "result"), Column("how", "in this run"), Column("computed", "computed"),
        Column("n_events", "events", "count"), Column("build", "forkrun", detail=1),
        Column("agree", "digest", bad="differs"),
    )  # fmt: skip
    return Table("Runs that computed the results", columns, rows, _MOST_ROWS)


def phases(report: Json) -> Table:
    """Phases; indented rows are parts of the one above."""
    found, active_s = report["phases"], report["phases"]["active_s"]
    names = {
        "startup_s": ("start-up", "start-up"),
        "index_s": ("  index and plan", ""),
        "modules_s": ("  modules and conditions", ""),
        "fork_s": ("  fork", ""),
        "first_event_s": ("  until all children have an event", ""),
        "processing_s": ("all busy", "all busy"),
        "shutdown_s": ("shut-down", "shut-down"),
        "last_children_s": ("  waiting for the last child", ""),
        "merge_s": ("  merge", "merge"),
    }
    rows = [
        {"phase": name, "time_s": found[key], "share": ratio(found[key], active_s)}
        for key, name in names.items()
        if found[key] is not None
    ]
    return Table("Where the time went", _parts("phase", "of the job"), rows)


def spent(report: Json) -> Table | None:
    """Time spent by all threads of the children while these worked."""
    times = report["spent"]
    if not times or not times["thread_s"]:
        return None
    known = {
        kind: times[f"{kind}_s"] for kind in ("reading", "unpacking", "processing", "committing")
    }
    waiting = max(times["thread_s"] - sum(known.values()), 0.0)
    rows = [
        {"what": (kind, kind), "time_s": time_s, "share": time_s / times["thread_s"]}
        for kind, time_s in {**known, "waiting": waiting}.items()
    ]
    if times["ahead_s"]:  # in addition
        rows.append({"what": ("reading ahead",) * 2, "time_s": times["ahead_s"], "share": None})
    return Table("What the children's threads did", _parts("what", "share"), rows)


def _parts(what: str, share: str) -> tuple[Column, ...]:
    return (
        Column(what, what, "word"), Column("time_s", "time", "time"),
        Column("share", share, "share", bar=True),
    )  # fmt: skip


def memory(report: Json) -> Table | None:
    """Memory of each process at the peak, and common memory once. None: no samples."""
    if not (found := report["memory"]):
        return None
    peak, limit = found["peak"], found["limit_bytes"]
    own = [{**part, "n": len(part["children"]) or 1} for part in found["parts"]]
    for part in own:
        part["name"] += ", private"
    rows = [
        {"name": "shared by all, once", "private_bytes": peak["shared_bytes"]},
        *own,
        {"name": "in all", "private_bytes": peak["pss_bytes"], "rss_bytes": peak["rss_bytes"],
         "n": peak["n_processes"]},
        *[{"name": "limit", "private_bytes": limit}] * (limit is not None),
    ]  # fmt: skip
    empty = dict.fromkeys(("n", "median_bytes", "highest_bytes", "rss_bytes"), "")
    columns = (
        Column("name", "part"),
        Column("private_bytes", "PSS", "size", bar=True),
        Column("n", "processes", "count", 3), Column("median_bytes", "median", "size", 2),
        Column("highest_bytes", "highest", "size", 2),
        Column("rss_bytes", "if nothing were shared", "size", 1),
    )  # fmt: skip
    return Table("Memory at the peak", columns, [{**empty, **row} for row in rows])


def modules(timing: Json) -> Table:
    """Modules with calls, sorted by time."""
    every = [each for each in timing["modules"] if each["count"]]
    total_s, n_events = sum(each["total_s"] for each in every), timing["n_events"] or 1
    rows = [
        {
            **each,
            "how": f"{each['kind']}, {each['concurrency']}",
            "share": ratio(each["total_s"], total_s),
            "per_event_s": each["total_s"] / n_events,
        }
        for each in _largest(every)
        if each["kind"] != "source column"
    ]
    columns = (
        Column("label", "module"), Column("how", "kind", detail=3),
        Column("count", "calls", "count"), Column("total_s", "time", "time"),
        Column("share", "share", "share"), Column("per_event_s", "per event", "time"),
        Column("mean_s", "mean", "time", 1), Column("p95_s", "p95", "time", 1),
        Column("max_s", "longest", "time", 1), Column("cpu_s", "CPU", "time", 1),
        Column("wait_inputs_s", "waits for inputs", "time", 2),
        Column("wait_queue_s", "waits for its turn", "time", 2),
    )  # fmt: skip
    return Table("Modules", columns, rows, _MOST_ROWS, "in timing.json")


def stalls(timing: Json) -> Table:
    columns = (
        Column("module", "module"), Column("waited_for", "waited for"),
        Column("count", "times", "count"), Column("total_s", "time", "time"),
    )  # fmt: skip
    rows = [each for each in timing["stalls"] if each["total_s"] > 0]
    return Table("Waiting for inputs", columns, rows, _MOST_ROWS, "in timing.json")


def columns_read(report: Json) -> Table | None:
    """Cost of reading by column, and of the common part."""
    costs = report["input"]
    if not costs:
        return None
    every = [*([costs["common"]] if costs["common"] else []), *costs["columns"]]
    total_s = sum(each["total_s"] for each in every)
    rows = [
        {
            **each,
            "name": each["column"] or "common to columns",
            "ratio": ratio(each["unpacked_bytes"], each["packed_bytes"]),
            "share": ratio(each["total_s"], total_s),
        }
        for each in _largest(every)
    ]
    columns = (
        Column("name", "column"), Column("n_blocks", "blocks", "count", 2),
        Column("read_calls", "reads", "count", 1, "column reads"),
        Column("read_bytes", "bytes read", "size"), Column("unpacked_bytes", "unpacked", "size", 2),
        Column("ratio", "ratio", "ratio", 2), Column("read_s", "reading", "time", 1),
        Column("unpack_s", "unzipping", "time", 1), Column("decode_s", "decoding", "time", 1),
        Column("total_s", "time", "time"), Column("share", "share", "share"),
    )  # fmt: skip
    return Table("Columns that were read", columns, rows, _MOST_ROWS)


def outputs(report: Json) -> Table:
    words = {True: "agrees", False: "DIFFERS", None: "not merged"}
    rows = [
        {
            **each,
            "share": ratio(each["n_events_written"], each["n_events_read"]),
            "size": each["n_bytes_merged"] or each["n_bytes_written"],
            "per_event": ratio(each["n_bytes_merged"] or 0, each["n_events_merged"]),
            "merged": words[each["agree"]],
            "differs": each["agree"] is False,
            "rewritten": ", ".join(each["written_anew"]),
        }
        for each in report["events"]["outputs"]
    ]
    columns = (
        Column("label", "output"), Column("n_events_written", "events", "count"),
        Column("share", "of those read", "share"), Column("size", "size", "size"),
        Column("per_event", "per event", "size", 1), Column("compression", "compression"),
        Column("merged", "merged file", word="agrees", bad="differs"),
        Column("rewritten", "rewritten by ROOT"),
    )  # fmt: skip
    return Table("Outputs", columns, rows)


def datasets(found: Sequence[Json]) -> Table:
    labels = dict.fromkeys(label for each in found for label in each["n_events_written"])
    rows = [{**each, "kind": "data" if each["is_data"] else "simulation"} for each in found]
    columns = (
        Column("name", "dataset"),
        Column("kind", "kind"),
        Column("n_files", "files", "count"),
        Column("n_events_read", "events", "count", whole="n_events_planned"),
        Column("n_lumis_committed", "lumis", "count", whole="n_lumis_planned"),
        Column("sum_of_weights", "sum of weights", "number"),
        *(
            Column(f"n_events_written/{label}", label, "count", n // 4, "output")
            for n, label in enumerate(labels)
        ),
    )
    written = [
        {f"n_events_written/{k}": n for k, n in each["n_events_written"].items()} for each in found
    ]
    return Table("Datasets", columns, [{**r, **w} for r, w in zip(rows, written, strict=True)])


_CUTS = (
    Column("after", "after"), Column("n_events", "events", "count"),
    Column("step", "of the last", "efficiency"), Column("total", "of all", "efficiency"),
    Column("sum_weights", "weights", "number"),
    Column("weighted_step", "of the last", "efficiency"),
    Column("weighted_total", "of all", "efficiency"), Column("missing", "refused as None", "count"),
)  # fmt: skip


def cutflow(flows: Sequence[Json]) -> list[Part]:
    """Events left by each filter, in all or by dataset, data apart from simulation."""
    if not flows:
        return []
    names = list(dict.fromkeys(name for flow in flows for name in flow["datasets"]))
    data = [name for name in names if name in flows[0]["data"]]
    simulation = [name for name in names if name not in data]
    parts: list[Part] = [*_by_dataset(flows, "simulation", simulation, "data" * bool(data))]
    parts += _by_dataset(flows, "data", data, "simulation" * bool(simulation))
    if not names:
        rows = [row for flow in flows for row in _cuts(flow["cuts"], flow["path"])]
        parts.append(Table("Cutflow", (Column("path", "path"), *_CUTS), rows, _MOST_LINES))
    missing = flows[0]["n_units_missing"]
    notes = [
        flows[0]["no_sum"],
        f"Without {plural(missing, 'unit')} that were not counted" * (missing > 0),
    ]
    return [*parts, *filter(None, notes)]


def _by_dataset(
    flows: Sequence[Json], kind: str, names: Sequence[str], others: str
) -> Iterator[Table]:
    """Tables with a column for each of these datasets, split if they are many, and for their sum,
    if meaningful. `others`: the kind of the datasets in other tables, "" without others."""
    for first in range(0, len(names), _MOST_DATASETS):
        shown = names[first : first + _MOST_DATASETS]
        of_flows = [[flow["datasets"].get(name, ()) for name in shown] for flow in flows]
        sums = [flow["sums"].get(kind, ()) if others else flow["cuts"] for flow in flows]
        if len(names) > 1 and any(sums) and first + _MOST_DATASETS >= len(names):
            shown = [*shown, "all"]
            of_flows = [[*of, total] for of, total in zip(of_flows, sums, strict=True)]
        paths = [flow["path"] for flow in flows]
        rows = [row for each in zip(paths, of_flows, strict=True) for row in _filters(*each)]
        columns = [Column(str(n), name, "text", word="dataset") for n, name in enumerate(shown)]
        head = (Column("path", "path"), Column("after", "after"), Column("kind", "kind"))
        yield Table(
            f"Cutflow of {kind}" if others else "Cutflow", (*head, *columns), rows, _MOST_LINES
        )


def _filters(path: str, of_each: Sequence[Sequence[Json]]) -> Iterator[Json]:
    """Rows of a path: for each filter, the columns of _CUTS with a value."""
    for n, at_once in enumerate(zip_longest(*map(_cuts, of_each), fillvalue=None)):
        after = next(cut["after"] for cut in at_once if cut)
        place = {"path": path if n == 0 else "", "after": after}
        for column in _CUTS[1:]:
            values = [cell(cut or {column.key: None}, column) for cut in at_once]
            if set(values) - {"", DASH}:
                yield {**place, "kind": column.title, **{str(k): v for k, v in enumerate(values)}}
                place = {"path": "", "after": ""}


def _cuts(cuts: Iterable[Json], path: str = "") -> list[Json]:
    """Rows of cuts, without fractions at the beginning of the path."""
    nothing = {"after": "(all)", "step": "", "total": "", "weighted_step": "", "weighted_total": ""}
    return [
        {
            **cut,
            **({} if cut["after"] else nothing),
            "path": path if n == 0 else "",
            "missing": cut["n_missing"] or None,
        }
        for n, cut in enumerate(cuts)
    ]


def _largest(costs: Iterable[Json]) -> list[Json]:
    return sorted(costs, key=lambda each: -float(each["total_s"]))
