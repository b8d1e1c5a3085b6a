"""Parts of the report for `print` and notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from forkrun.base.quantities import plural
from forkrun.errors import ConfigError
from forkrun.monitoring.report import tables
from forkrun.monitoring.report.parts import html_of, text_of
from forkrun.monitoring.report.sections import overview, problem_of, remarks
from forkrun.monitoring.tables import Table, efficiency

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
