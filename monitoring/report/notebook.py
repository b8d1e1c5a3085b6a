"""Parts of the report as `print` and notebooks show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from msgspec import convert

from forkrun.monitoring.report.cutflow import Cut, PathCutflow
from forkrun.monitoring.report.datasets import DatasetCounts
from forkrun.monitoring.report.tables import Rows, cutflow_tables, dataset_rows, format_table


class Cuts(list[dict[str, Any]]):
    """What the filters of a path left, as in report.json: for its beginning and for each filter.
    `print` shows a table. `datasets`: the same of each dataset, by name, where there are several;
    this one is then their sum, or empty: `no_sum` says why."""

    def __init__(
        self,
        path: str,
        cuts: Sequence[Mapping[str, Any]],
        datasets: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
        no_sum: str = "",
    ) -> None:
        super().__init__(map(dict, cuts))
        self._path, self.no_sum = path, no_sum
        self.datasets = {name: Cuts(path, of_one) for name, of_one in (datasets or {}).items()}

    def __getitem__(self, place: Any) -> Any:
        """Raises IndexError that says where to look if there is no sum over datasets."""
        if self.no_sum:
            names = ", ".join(f'"{name}"' for name in self.datasets)
            look = f'result.cutflow["{self._path}"].datasets has those of {names}'
            raise IndexError(f"{self.no_sum}; {look}")
        return super().__getitem__(place)

    def __str__(self) -> str:
        tables = ["\n".join(format_table(rows, left={0, 1})) for rows in self._tables()]
        return "\n\n".join([*tables, *([f"  {self.no_sum}"] if self.no_sum else [])])

    def _tables(self) -> list[Rows]:
        by_dataset = {name: each._as_read() for name, each in self.datasets.items()}
        cuts = self._as_read()
        return cutflow_tables([PathCutflow(self._path, cuts, 0, by_dataset, self.no_sum)])

    def _as_read(self) -> tuple[Cut, ...]:
        return tuple(convert(each, Cut) for each in self)

    def _repr_html_(self) -> str:
        """As notebooks show it."""
        said = f"<p>{escape(self.no_sum)}</p>" if self.no_sum else ""
        return "".join(map(_html_table, self._tables())) + said


class Cutflows(dict[str, Cuts]):
    """What the filters left, by path; `print` and notebooks show a table."""

    def __str__(self) -> str:
        return "\n".join(map(str, self.values()))

    def _repr_html_(self) -> str:
        """As notebooks show it."""
        return "".join(cuts._repr_html_() for cuts in self.values())


class Datasets(dict[str, dict[str, Any]]):
    """By name, what report.json has of each dataset; `print` and notebooks show a table."""

    def _rows(self) -> Rows:
        return dataset_rows(tuple(convert(each, DatasetCounts) for each in self.values()))

    def __str__(self) -> str:
        rows = self._rows()
        return "\n".join(format_table(rows, left={0, 1})) if rows else "{}"

    def _repr_html_(self) -> str:
        """As notebooks show it."""
        rows = self._rows()
        return _html_table(rows) if rows else ""


def _html_table(rows: Sequence[Sequence[str]]) -> str:
    """The first row is the head."""

    def row(tag: str, cells: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return f"<table>{row('th', rows[0])}{''.join(row('td', each) for each in rows[1:])}</table>"
