"""The report in a few lines for the terminal, with success, selected events, rate, and anything
that needs attention; and parts of it for `print` and notebooks. The rest is in `report.txt`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import islice
from pathlib import Path
from textwrap import shorten
from typing import Any

from forkrun.base.quantities import DASH, count, percent, plural, seconds, size
from forkrun.errors import ConfigError
from forkrun.monitoring.report import tables
from forkrun.monitoring.report.sections import (
    digests_of,
    not_numbers,
    outcome_of,
    overview,
    peak_of,
    problem_of,
    remarks,
)
from forkrun.monitoring.tables import Table, efficiency, html_of, rate, text_of

Flow = Mapping[str, Any]
"""The cutflow of a path, as in report.json."""
_EFFICIENCIES = ("step", "total", "weighted_step", "weighted_total")


class CutRow(dict[str, Any]):
    """Events left by a filter, as in report.json; `print` shows a line."""

    def __str__(self) -> str:
        said = f"{self['after'] or '(all)'}: {plural(self['n_events'], 'event')}"
        if not self["after"] or not self["step"] or not self["total"]:
            return said
        of_last, of_all = efficiency(self["step"]), efficiency(self["total"])
        return f"{said}, {of_last} of the last, {of_all} of all"

    __repr__ = __str__


class Cuts(list[CutRow]):
    """Events left by the filters of a path: at its beginning and after each filter. `print` and
    notebooks show a table. `datasets`: the same of each dataset, by name, if there are several;
    this one is then their sum, or empty for the reason in `no_sum`."""

    def __init__(self, flow: Flow, name: str = "") -> None:
        """`name`: of the dataset."""
        super().__init__(map(CutRow, flow["cuts"]))
        self._flow = {"data": (), "sums": {}, **flow}
        self.no_sum = str(flow["no_sum"])
        one = {"datasets": {}, "no_sum": "", "data": (), "sums": {}}
        self.datasets = _OfDatasets(
            self._flow,
            {n: Cuts({**flow, **one, "cuts": cuts}, n) for n, cuts in flow["datasets"].items()},
        )
        self._name = name

    def __getitem__(self, place: Any) -> Any:
        """Raises IndexError without a sum over datasets; the message names the place to look."""
        if self.no_sum:
            names = ", ".join(f'"{name}"' for name in self.datasets)
            look = f'result.cutflow["{self._flow["path"]}"].datasets has those of {names}'
            raise IndexError(f"{self.no_sum}; {look}")
        return super().__getitem__(place)

    def records(self) -> list[dict[str, Any]]:
        """A flat dict for each dataset and filter, for tables of pandas and polars: path, dataset
        ("" unless there are several), is_data, filter ("" at the beginning), n_events, sum_weights,
        …, and efficiencies with their intervals: step, step_low, …"""
        if self.datasets:
            rows = [row for cuts in self.datasets.values() for row in cuts.records()]
            return [{**row, "is_data": row["dataset"] in self._flow["data"]} for row in rows]
        place = {"path": self._flow["path"], "dataset": self._name, "is_data": False}
        return [{**place, **_flat(cut)} for cut in self]

    def to_pandas(self) -> Any:
        """A DataFrame: rows are filters, columns (dataset, value), or values unless there are
        several datasets. Raises ConfigError if pandas is not installed."""
        return _frame(self.records(), bool(self.datasets))

    def __str__(self) -> str:
        return _text([self._flow])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """HTML for notebooks."""
        return html_of(tables.cutflow([self._flow]))


class _OfDatasets(dict[str, Cuts]):
    """Cutflows of datasets, by name; `print` shows all of them in one table."""

    def __init__(self, flow: Flow, cuts: Mapping[str, Cuts]) -> None:
        super().__init__(cuts)
        self._flow = flow

    def __str__(self) -> str:
        return _text([self._flow])

    __repr__ = __str__


class Cutflows(dict[str, Cuts]):
    """Events left by the filters, by path; `print` and notebooks show a table."""

    @classmethod
    def of(cls, flows: Iterable[Flow]) -> Cutflows:
        return cls({flow["path"]: Cuts(flow) for flow in flows})

    def records(self) -> list[dict[str, Any]]:
        """Records of all paths."""
        return [row for cuts in self.values() for row in cuts.records()]

    def to_pandas(self) -> Any:
        """DataFrame of all paths."""
        return _frame(self.records(), any(cuts.datasets for cuts in self.values()))

    def __str__(self) -> str:
        return _text([cuts._flow for cuts in self.values()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """HTML for notebooks."""
        return html_of(tables.cutflow([cuts._flow for cuts in self.values()]))


def _text(flows: Sequence[Flow]) -> str:
    if not flows:
        return "no cutflow: no path has a filter, or the job does not count (monitoring.cutflow)"
    return text_of(tables.cutflow(flows)).removeprefix("Cutflow\n")


def _flat(cut: Mapping[str, Any]) -> dict[str, Any]:
    flat = {"filter": cut["after"]}
    flat |= {key: value for key, value in cut.items() if key not in ("after", *_EFFICIENCIES)}
    for key in _EFFICIENCIES:
        value = cut[key] or {}
        flat |= {key: value.get("value")}
        flat |= {f"{key}_{end}": value.get(end) for end in ("low", "high")}
    return flat


def _frame(records: Sequence[Mapping[str, Any]], is_by_dataset: bool) -> Any:
    try:
        import pandas
    except ModuleNotFoundError:
        raise ConfigError(
            "to_pandas() needs pandas: pip install pandas; records() does not"
        ) from None
    frame = pandas.DataFrame.from_records(records).set_index(["path", "filter"])
    values = frame.drop(columns=["dataset", "is_data"])
    if not is_by_dataset:
        return values
    return pandas.concat(dict(iter(values.groupby(frame["dataset"], sort=False))), axis=1)


class Datasets(dict[str, dict[str, Any]]):
    """Entries of report.json for each dataset, by name; `print` and notebooks show a table."""

    @property
    def _table(self) -> Table:
        return tables.datasets([*self.values()])

    def __str__(self) -> str:
        return self._table.text() if self else "the job has not several datasets"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """HTML for notebooks."""
        return self._table.html() if self else ""


_MOST_REMARKS = 6


def summary_html(report: Mapping[str, Any], title: str, page: Path) -> str:
    """The beginning of the page: figures and remarks; `page`: path of the whole report."""
    whole = (
        f'<a href="{escape(str(page), quote=True)}" target="_blank">the whole report</a>'
        if page.exists()
        else "without a page"
    )
    head = f"<p><b>{escape(title)}</b> · {whole}</p>"
    try:
        said = "<br>".join(map(escape, problem_of(report)))
        parts = [*overview(report), *remarks(report, report["phases"]["start_s"] or 0.0)]
        return head + (f"<p>{said}</p>" if said else "") + html_of(parts, _MOST_REMARKS)
    except (LookupError, TypeError):  # report of another version
        return head


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
