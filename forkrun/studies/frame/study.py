"""The result of a study: rows of values, published figures, and conclusions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, to_builtins

from forkrun.base.quantities import plural
from forkrun.monitoring.host import describe_host
from forkrun.monitoring.tables import FORMS, Column, Table
from forkrun.studies.frame.machine import OtherLoad
from forkrun.studies.frame.published import Published, published
from forkrun.studies.frame.repeats import Repeated, Row


class Figure(Struct, frozen=True):
    """Our value for a published one."""

    published: Published
    value: float

    @classmethod
    def of(cls, line: str, name: str, value: float) -> Figure:
        """`line`: "P1.9"; `name`: as in `published.py`. Raises KeyError for unknown ones."""
        return cls(published(line, name), value)

    @property
    def ratio(self) -> float | None:
        """Our value over the published one."""
        return self.value / self.published.value if self.published.value else None

    def to_json(self) -> dict[str, Any]:
        return {**to_builtins(self.published), "ours": self.value, "ratio": self.ratio}


class Curve(Struct, frozen=True):
    """Points (x, y), or (x, y, noise of y), joined by a line if several. `theirs`: published."""

    name: str
    points: Sequence[tuple[float, ...]]
    theirs: bool = False


class Plot(Struct, frozen=True):
    """`ticks`: names of places on the x axis, at 0, 1, …; `x_log`: base of a logarithmic axis."""

    title: str
    subtitle: str
    x_label: str
    y_label: str
    curves: Sequence[Curve]
    ticks: Sequence[str] = ()
    x_log: int | None = None
    y_log: bool = False
    ideal: float | None = None


class Study(Struct, frozen=True):
    """`kind`: as in the command; `name`: of the job, or of the input. `conclusions`: sentences,
    printed if the machine was quiet; `remarks`: always printed; `details`: only in JSON."""

    kind: str
    name: str
    columns: Sequence[Column]
    rows: Mapping[str, Row]
    load: OtherLoad
    conclusions: Sequence[str] = ()
    remarks: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    plot: Plot | None = None
    details: Mapping[str, Any] = {}

    @property
    def is_conclusive(self) -> bool:
        """Whether no other load disturbed it."""
        return self.load.is_quiet

    @property
    def n_repeats(self) -> int:
        values = (value for row in self.rows.values() for value in row.values.values())
        return max((len(value.repeats) for value in values), default=0)

    def to_json(self) -> dict[str, Any]:
        """JSON form of all studies. Times in seconds, sizes in bytes, shares and noise as
        fractions."""
        return {
            "study": self.kind,
            "name": self.name,
            "n_repeats": self.n_repeats,
            "is_conclusive": self.is_conclusive,
            "other_load": to_builtins(self.load),
            "columns": to_builtins(list(self.columns)),
            "rows": [
                {"name": row.name, **{key: v.to_json() for key, v in row.values.items()}}
                for row in self.rows.values()
            ],
            "figures": [figure.to_json() for figure in self.figures],
            "conclusions": list(self.conclusions) if self.is_conclusive else [],
            "remarks": list(self.remarks),
            "details": dict(self.details),
            "host": describe_host(),
        }


_NOISE_FROM = 0.005
"""Smallest noise shown; counts are the same each time."""


def print_study(study: Study) -> None:
    """Prints the table, each value with the spread of its repeats; published values; conclusions,
    or why they are missing."""
    columns = [Column(each.key, each.title, "measured") for each in study.columns]
    rows = [
        {"name": row.name, **{c.key: _cell(row.values, c) for c in study.columns}}
        for row in study.rows.values()
    ]
    print(f"{study.kind}: {study.name}")
    print(Table("", [Column("name", ""), *columns], rows).text())
    if study.n_repeats > 1:
        print(f"  median of {plural(study.n_repeats, 'repeat')}, ± half of their range")
    for figure in study.figures:
        what, unit = f"{figure.published.line} {figure.published.name}", figure.published.unit
        theirs, ours = with_unit(figure.published.value, unit), with_unit(figure.value, unit)
        print(f"{what}: published {theirs}, here {ours}")
    why = [f"not conclusive: {study.load}; measure on a quiet machine"]
    for line in (*study.remarks, *(study.conclusions if study.is_conclusive else why)):
        print(line)


def with_unit(value: float, unit: str) -> str:
    """A value in the form of published ones."""
    form = {"B": "size", "s": "time", "/s": "rate", "": "ratio"}.get(unit)
    return FORMS[form](value) if form else f"{value:,.4g} {unit}"


def _cell(values: Mapping[str, Repeated], column: Column) -> dict[str, Any] | str:
    if (value := values.get(column.key)) is None:
        return ""
    noise = value.noise if value.noise >= _NOISE_FROM else None
    return {"value": value.value, "form": column.form, "noise": noise, "digits": 0}
