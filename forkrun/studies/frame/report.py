"""A study for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rich.console import Console
from rich.table import Table

from forkrun.base.quantities import count, duration, percent, size
from forkrun.studies.frame.repeats import Repeated
from forkrun.studies.frame.study import Study

FORMS: dict[str, Callable[[float], str]] = {
    "time": lambda value: duration(value) if value else "0",
    "size": size,
    "share": percent,
    "count": count,
    "rate": lambda value: f"{value:,.{0 if value >= 100 else 1}f} /s",
    "ratio": lambda value: f"{value:.2f}",
}
_NOISE_FROM = 0.005
"""What would be rounded to nothing is not said: counts are the same each time."""


def print_study(study: Study, console: Console) -> None:
    """The table, each value with the spread of its repeats; published values; conclusions, or why
    there are none."""
    console.print(_table(study))
    for figure in study.figures:
        what, unit = f"{figure.published.line} {figure.published.name}", figure.published.unit
        theirs, ours = with_unit(figure.published.value, unit), with_unit(figure.value, unit)
        console.print(f"{what}: published {theirs}, here {ours}")
    for line in study.remarks:
        console.print(line)
    if study.is_conclusive:
        for line in study.conclusions:
            console.print(line)
    else:
        console.print(f"not conclusive: {study.load}; measure on a quiet machine")


def with_unit(value: float, unit: str) -> str:
    """A value as published ones are written."""
    form = {"B": "size", "s": "time", "/s": "rate", "": "ratio"}.get(unit)
    return FORMS[form](value) if form else f"{value:,.4g} {unit}"


def _table(study: Study) -> Table:
    repeats = f"median of {study.n_repeats} repeats, ± half of their range"
    table = Table(
        title=f"{study.kind}: {study.name}", title_justify="left",
        caption=repeats if study.n_repeats > 1 else None, caption_justify="left",
    )  # fmt: skip
    table.add_column("")
    for column in study.columns:
        table.add_column(column.title, justify="right")
    for row in study.rows:
        table.add_row(row.name, *(_cell(row.values, c.key, c.form) for c in study.columns))
    return table


def _cell(values: Mapping[str, Repeated], key: str, form: str) -> str:
    value = values.get(key)
    if value is None:
        return ""
    text = FORMS[form](value.value)
    return f"{text} ± {percent(value.noise / 2, 0)}" if value.noise >= _NOISE_FROM else text
