"""Parts of the report as `print` and notebooks show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from msgspec import convert

from forkrun.monitoring.report.cutflow import Cut, PathCutflow
from forkrun.monitoring.report.tables import cutflow_rows, dataset_rows, format_table


class Cuts(list[dict[str, Any]]):
    """What the filters of a path left, as in report.json: for its beginning and for each filter.
    `print` shows a table. `datasets`: the same of each dataset, by name, where there are several;
    this one is then their sum."""

    def __init__(
        self,
        path: str,
        cuts: Sequence[Mapping[str, Any]],
        datasets: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    ) -> None:
        super().__init__(map(dict, cuts))
        self._path = path
        self.datasets = {name: Cuts(path, of_one) for name, of_one in (datasets or {}).items()}

    def __str__(self) -> str:
        tables = ["\n".join(format_table(rows, left={0, 1})) for rows in self._tables()]
        return "\n\n".join(tables)

    def _tables(self) -> list[list[tuple[str, ...]]]:
        """Rows for all events, and for each dataset where there are several."""
        by_dataset = {name: each._as_read() for name, each in self.datasets.items()}
        flow = [PathCutflow(self._path, self._as_read(), datasets=by_dataset)]
        return [cutflow_rows(flow), *([dataset_rows(flow)] if by_dataset else [])]

    def _as_read(self) -> tuple[Cut, ...]:
        return tuple(convert(each, Cut) for each in self)

    def _repr_html_(self) -> str:
        """As notebooks show it."""
        return "".join(map(_html_table, self._tables()))


class Cutflows(dict[str, Cuts]):
    """What the filters left, by path; `print` and notebooks show a table."""

    def __str__(self) -> str:
        return "\n".join(map(str, self.values()))

    def _repr_html_(self) -> str:
        """As notebooks show it."""
        return "".join(cuts._repr_html_() for cuts in self.values())


def _html_table(rows: Sequence[Sequence[str]]) -> str:
    """The first row is the head."""

    def row(tag: str, cells: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return f"<table>{row('th', rows[0])}{''.join(row('td', each) for each in rows[1:])}</table>"
