"""The cutflow for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from msgspec import convert

from forkrun.base.quantities import count
from forkrun.monitoring.cutflow import Cut, Efficiency, PathCutflow

_HEAD = ("path", "after", "events", "of the last", "of all")
_WEIGHTED = ("weights", "of the last", "of all")
MAX_PATHS = 8


def cutflow_rows(flows: Sequence[PathCutflow]) -> list[tuple[str, ...]]:
    """Rows of a table, with its head; empty for none."""
    shown = flows[:MAX_PATHS]
    if not shown:
        return []
    has_weights = any(cut.sum_weights is not None for flow in shown for cut in flow.cuts)
    rows = [_HEAD + _WEIGHTED * has_weights]
    for flow in shown:
        for n, cut in enumerate(flow.cuts):
            rows.append((flow.path if n == 0 else "", *_cells(cut), *_weights(cut) * has_weights))
    return rows


def _cells(cut: Cut) -> tuple[str, ...]:
    if not cut.after:
        return "(all)", count(cut.n_events), "", ""
    return cut.after, count(cut.n_events), _percent(cut.step), _percent(cut.total)


def _weights(cut: Cut) -> tuple[str, ...]:
    total = "" if cut.sum_weights is None else f"{cut.sum_weights:.6g}"
    if not cut.after:
        return total, "", ""
    return total, _percent(cut.weighted_step), _percent(cut.weighted_total)


def _percent(efficiency: Efficiency | None) -> str:
    """`25.8 ± 0.6 %`: half of the interval."""
    if efficiency is None:
        return "-"
    half = (efficiency.high - efficiency.low) / 2
    digits = 1 if half >= 0.001 else 3
    return f"{100 * efficiency.value:.{digits}f} ± {100 * half:.{digits}f} %"


def dataset_rows(flows: Sequence[PathCutflow]) -> list[tuple[str, ...]]:
    """Rows of a table of what the last filter of each path left of each dataset, with its head;
    empty without datasets."""
    shown = [flow for flow in flows[:MAX_PATHS] if flow.datasets]
    if not shown:
        return []
    has_weights = any(cut.sum_weights is not None for flow in shown for cut in flow.cuts)
    rows = [("path", "dataset", "events", "left", "of all", *("weights", "of all") * has_weights)]
    for flow in shown:
        for n, (name, cuts) in enumerate(flow.datasets.items()):
            last, all_ = cuts[-1], count(cuts[0].n_events)
            weights = ((_weights(last)[0], _percent(last.weighted_total))) * has_weights
            left = (count(last.n_events), _percent(last.total), *weights)
            rows.append((flow.path if n == 0 else "", name, all_, *left))
    return rows


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
        return "".join(map(html_table, self._tables()))


class Cutflows(dict[str, Cuts]):
    """What the filters left, by path; `print` and notebooks show a table."""

    def __str__(self) -> str:
        return "\n".join(map(str, self.values()))

    def _repr_html_(self) -> str:
        """As notebooks show it."""
        return "".join(cuts._repr_html_() for cuts in self.values())


def html_table(rows: Sequence[Sequence[str]]) -> str:
    """The first row is the head."""

    def row(tag: str, cells: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return f"<table>{row('th', rows[0])}{''.join(row('td', each) for each in rows[1:])}</table>"


def format_table(rows: Sequence[Sequence[str]], left: set[int]) -> list[str]:
    """Right-aligned columns but those in `left`."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  " + "  ".join(_pad(cell, widths[i], i in left) for i, cell in enumerate(row)).rstrip()
        for row in rows
    ]


def _pad(cell: str, width: int, is_left: bool) -> str:
    return cell.ljust(width) if is_left else cell.rjust(width)
