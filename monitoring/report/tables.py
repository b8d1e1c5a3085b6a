"""Tables of text: what filters left, and what was read of datasets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from forkrun.base.quantities import DASH, count
from forkrun.monitoring.report.cutflow import Cut, Efficiency, PathCutflow
from forkrun.monitoring.report.datasets import DatasetCounts

_HEAD = ("path", "after", "events", "of the last", "of all")
_WEIGHTED = ("weights", "of the last", "of all")
_MISSING = ("refused as None",)
MAX_PATHS = 8
_MOST_BESIDE = 7
"""Datasets in one table."""
_MOST_OUTPUTS = 4
"""In the table of datasets."""
Rows = list[tuple[str, ...]]


def cutflow_tables(flows: Sequence[PathCutflow]) -> list[Rows]:
    """Tables with what each filter left: of all events, or where there is no sum over datasets, of
    each of these; then what the last one left of each dataset. Each has its head."""
    shown = flows[:MAX_PATHS]
    if not shown:
        return []
    names = list(dict.fromkeys(name for flow in shown for name in flow.datasets))
    if shown[0].no_sum:
        begins = range(0, len(names), _MOST_BESIDE)
        tables = [_beside(shown, names[n : n + _MOST_BESIDE]) for n in begins]
    else:
        tables = [_rows(shown)]
    return [*tables, _left_of_datasets(shown)] if names else tables


def _beside(flows: Sequence[PathCutflow], names: Sequence[str]) -> Rows:
    """What each filter left of these datasets, a column for each."""
    rows: Rows = []
    has_weights, has_missing = _have_weights(flows), _have_missing(flows)
    has_kinds = has_weights or has_missing
    for flow in flows:
        of_each = [flow.datasets.get(name, ()) for name in names]
        for n, cuts in enumerate(zip_longest(*of_each)):
            after = next(cut.after for cut in cuts if cut) or "(all)"
            place = (flow.path if n == 0 else "", after)
            counts = tuple(count(cut.n_events) if cut else DASH for cut in cuts)
            rows.append((*place, *("events",) * has_kinds, *counts))
            if has_weights:
                weights = tuple(_weights(cut)[0] if cut else DASH for cut in cuts)
                rows.append(("", "", "weights", *weights))
            if any(cut and cut.n_missing for cut in cuts):
                missing = tuple(count(cut.n_missing) if cut else DASH for cut in cuts)
                rows.append(("", "", *_MISSING, *missing))
    return [("path", "after", *("",) * has_kinds, *names), *rows]


def _have_weights(flows: Sequence[PathCutflow]) -> bool:
    return any(cut.sum_weights is not None for cut in _all_cuts(flows))


def _have_missing(flows: Sequence[PathCutflow]) -> bool:
    return any(cut.n_missing for cut in _all_cuts(flows))


def _all_cuts(flows: Sequence[PathCutflow]) -> Iterator[Cut]:
    for flow in flows:
        for cuts in (flow.cuts, *flow.datasets.values()):
            yield from cuts


def _rows(flows: Sequence[PathCutflow]) -> Rows:
    has_weights = _have_weights(flows)
    has_missing = _have_missing(flows)
    rows = [_HEAD + _WEIGHTED * has_weights + _MISSING * has_missing]
    for flow in flows:
        for n, cut in enumerate(flow.cuts):
            missing = (count(cut.n_missing) if cut.n_missing else "",) * has_missing
            weights = _weights(cut) * has_weights
            rows.append((flow.path if n == 0 else "", *_cells(cut), *weights, *missing))
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


def _left_of_datasets(flows: Sequence[PathCutflow]) -> Rows:
    """What the last filter of each path left of each dataset."""
    has_weights = _have_weights(flows)
    rows = [("path", "dataset", "events", "left", "of all", *("weights", "of all") * has_weights)]
    for flow in flows:
        for n, (name, cuts) in enumerate(flow.datasets.items()):
            last, all_ = cuts[-1], count(cuts[0].n_events)
            weights = ((_weights(last)[0], _percent(last.weighted_total))) * has_weights
            left = (count(last.n_events), _percent(last.total), *weights)
            rows.append((flow.path if n == 0 else "", name, all_, *left))
    return rows


def dataset_rows(datasets: Sequence[DatasetCounts]) -> Rows:
    """Rows of a table, with its head; empty for none."""
    if not datasets:
        return []
    labels = list(datasets[0].n_events_written)[:_MOST_OUTPUTS]
    head = ("dataset", "", "files", "events", "lumis", "sum of weights", *labels)
    return [head, *(_dataset_row(dataset, labels) for dataset in datasets)]


def _dataset_row(dataset: DatasetCounts, labels: Sequence[str]) -> tuple[str, ...]:
    n_weights = dataset.sum_of_weights
    return (
        dataset.name,
        "data" if dataset.is_data else "simulation",
        count(dataset.n_files),
        _of(dataset.n_events_read, dataset.n_events_planned),
        _of(dataset.n_lumis_committed, dataset.n_lumis_planned),
        DASH if n_weights is None else f"{n_weights:.6g}",
        *(count(dataset.n_events_written[label]) for label in labels),
    )


def _of(n_done: int, n_planned: int) -> str:
    return count(n_done) if n_done == n_planned else f"{count(n_done)} of {count(n_planned)}"


def format_table(rows: Sequence[Sequence[str]], left: set[int]) -> list[str]:
    """Right-aligned columns but those in `left`."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  " + "  ".join(_pad(cell, widths[i], i in left) for i, cell in enumerate(row)).rstrip()
        for row in rows
    ]


def _pad(cell: str, width: int, is_left: bool) -> str:
    return cell.ljust(width) if is_left else cell.rjust(width)
