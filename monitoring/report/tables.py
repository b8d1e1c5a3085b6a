"""Tables of text: what filters left."""

from __future__ import annotations

from collections.abc import Sequence

from forkrun.base.quantities import count
from forkrun.monitoring.report.cutflow import Cut, Efficiency, PathCutflow

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


def format_table(rows: Sequence[Sequence[str]], left: set[int]) -> list[str]:
    """Right-aligned columns but those in `left`."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  " + "  ".join(_pad(cell, widths[i], i in left) for i, cell in enumerate(row)).rstrip()
        for row in rows
    ]


def _pad(cell: str, width: int, is_left: bool) -> str:
    return cell.ljust(width) if is_left else cell.rjust(width)
