"""The comparison as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from forkrun.base.quantities import DASH, duration, plural, size
from forkrun.monitoring.comparison.compare import Column, Spread
from forkrun.monitoring.comparison.runs import FIGURES
from forkrun.monitoring.report.tables import format_table

_MOST_ROWS = 12
_SAME = {True: "the same", False: "DIFFER", None: "not known"}


def format_comparison(columns: Sequence[Column]) -> str:
    """Tables of at most so many columns as there are; ends with a newline."""
    names = [f"[{n}]" for n in range(1, len(columns) + 1)]
    lines = [f"{name} {_described(column)}" for name, column in zip(names, columns, strict=True)]
    head = ("", *names)
    figures = [(FIGURES[name].text, *cells) for name, cells in _figures(columns)]
    tables = [[head, *figures]]
    if modules := list(_rows(columns, "modules", duration)):
        tables.append([("time per event", *names), *modules])
    if columns_read := list(_rows(columns, "columns", _bytes)):
        tables.append([("bytes read per event", *names), *columns_read])
    if outputs := list(_outputs(columns)):
        tables.append([("events of output", *names), *outputs])
    texts = ["\n".join(format_table(rows, left={0})) for rows in tables]
    return "\n\n".join(["\n".join(lines), *texts]) + "\n"


def _described(column: Column) -> str:
    run = column.runs[0]
    shape = f"{run.children} × {plural(run.threads, 'thread')}, {plural(run.n_events, 'event')}"
    n = len(column.runs)
    repeats = f", {n} repeats: medians, ± half of their range" if n > 1 else ""
    outcomes = sorted({run.outcome for run in column.runs} - {"done"})
    bad = f", {', '.join(outcomes).upper()}" if outcomes else ""
    names = ", ".join(run.name for run in column.runs)
    return f"{names} ({shape}, forkrun {run.kind[1] or 'unknown'}{repeats}){bad}"


def _figures(columns: Sequence[Column]) -> Iterator[tuple[str, list[str]]]:
    for name, figure in FIGURES.items():
        spreads = [column.figures.get(name) for column in columns]
        if any(spreads):
            yield name, [_cell(spread, figure.write, n > 0) for n, spread in enumerate(spreads)]


def _cell(spread: Spread | None, write: Callable[[float], str], is_compared: bool) -> str:
    if spread is None:
        return DASH
    noise = f" ± {50 * spread.noise:.1f} %" if spread.noise is not None else ""
    ratio = f"  {spread.ratio:.2f} ×" if is_compared and spread.ratio is not None else ""
    return f"{write(spread.value)}{noise}{ratio}"


def _rows(
    columns: Sequence[Column], what: str, write: Callable[[float], str]
) -> Iterator[tuple[str, ...]]:
    """Modules or columns of the input: those that take most in any column of the table."""
    spreads: list[dict[str, Spread]] = [getattr(column, what) for column in columns]
    most: dict[str, float] = {}
    for of_column in spreads:
        for label, spread in of_column.items():
            most[label] = max(spread.value, most.get(label, 0.0))
    for label in sorted(most, key=lambda label: -most[label])[:_MOST_ROWS]:
        cells = [each.get(label) for each in spreads]
        yield label, *(_cell(spread, write, n > 0) for n, spread in enumerate(cells))


def _bytes(value: float) -> str:
    return f"{value:.2f} B" if value < 10 else size(value)


def _outputs(columns: Sequence[Column]) -> Iterator[tuple[str, ...]]:
    for label in dict.fromkeys(label for column in columns for label in column.same_outputs):
        first, *others = (_same(column, label) for column in columns)
        yield label, "" if first == _SAME[True] else first, *others  # "the same" as itself


def _same(column: Column, label: str) -> str:
    return _SAME[column.same_outputs[label]] if label in column.same_outputs else DASH
