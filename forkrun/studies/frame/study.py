"""The result of a study: rows of values, figures next to the published values of five works, and
conclusions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, to_builtins

from forkrun.base.quantities import plural
from forkrun.monitoring.host import describe_host
from forkrun.monitoring.tables import FORMS, Column, Table
from forkrun.studies.frame.machine import OtherLoad
from forkrun.studies.frame.repeats import Repeated, Row

WORKS = {
    "P1": "multi-core aware applications (CMS, 2010): forking; 32 cores, AMD Opteron 6128, 2 GHz",
    "P2": "a fine-grained framework with libdispatch (2012); 16 virtual cores, Xeon E5620",
    "P3": "libdispatch while reading with ROOT; a laptop of two cores",
    "P4": "a demonstrator with TBB; 32 cores, AMD Opteron 6128, 64 GB",
    "P5": "MarlinMT",
}
"""Works and their machines, by the first part of a line's number."""


class Published(Struct, frozen=True):
    """One value. `line`: number in the list of `docs/published.md`; `unit`: "" for a ratio."""

    line: str
    name: str
    value: float
    unit: str = ""


VALUES = (
    Published("P1.3", "shared memory per child", 700e6, "B"),
    Published("P1.3", "private memory per child", 375e6, "B"),
    Published("P1.4", "32 children", 13e9, "B"),
    Published("P1.4", "32 separate jobs", 34e9, "B"),
    Published("P1.4", "memory saved", 0.62),
    Published("P1.7", "utilization, high-pt QCD, N = max", 0.92),
    Published("P1.7", "utilization, tt̄, N = max", 0.92),
    Published("P1.7", "utilization, minimum bias, N = max", 0.85),
    Published("P1.8", "utilization, large events first, N = max", 0.38),
    Published("P1.8", "utilization, large events first, N = 1", 0.95),
    Published("P1.9", "read calls, N = max", 6.2, "/s"),
    Published("P1.9", "size of a read, N = max", 600e3, "B"),
    Published("P1.9", "read calls, N = 1", 156.0, "/s"),
    Published("P1.9", "size of a read, N = 1", 25e3, "B"),
    Published("P1.10", "read of the merged file, lumis scattered", 5900e6, "B"),
    Published("P1.10", "read of the merged file, lumis together", 750e6, "B"),
    Published("P1.10", "bytes read, scattered over together", 5900 / 750),
    Published("P1.12", "running modules at most, minimum bias", 26.0),
    Published("P1.12", "running modules on average, minimum bias", 2.64),
    Published("P1.12", "running modules at most, tt̄", 16.0),
    Published("P1.12", "running modules on average, tt̄", 2.62),
    Published("P1.12", "running modules at most, high-pt QCD", 20.0),
    Published("P1.12", "running modules on average, high-pt QCD", 2.19),
    Published("P2.1", "thread-unsafe over single-threaded", 0.95),
    Published("P2.1", "re-entrant over single-threaded, 16 events", 0.98),
    Published("P2.1", "re-entrant over single-threaded, fewer events than cores, at most", 1.30),
    Published("P2.2", "single-threaded, events at most", 800.0),
    Published("P2.2", "re-entrant but serial I/O, leaves the ideal at", 25.0, "events"),
    Published("P2.2", "re-entrant but serial I/O, flat from", 44.0, "events"),
    Published("P2.2", "fully re-entrant over single-threaded", 1.30),
    Published("P2.2", "memory of 2,000 events in flight", 1.1e9, "B"),
    Published("P2.2", "CPU of 2,000 events in flight, share", 1 / 8),
    Published("P2.4", "estimated speed-up", 1.29),
    Published("P2.4", "measured speed-up", 1.30),
    Published("P2.5", "busy over sleeping", 1.01),
    Published("P3.1", "single-threaded", 9.60, "s"),
    Published("P3.1", "slowest column", 6.44, "s"),
    Published("P3.1", "best possible", 6.68, "s"),
    Published("P3.2", "columns in parallel, waiting: speed-up", 1.17),
    Published("P3.2", "columns in parallel, waiting: share of the best", 0.81),
    Published("P3.3", "columns in parallel, queue: speed-up", 1.18),
    Published("P3.3", "columns in parallel, queue: share of the best", 0.82),
    Published("P3.4", "two files, even and odd: speed-up", 1.39),
    Published("P3.6", "shared cache without waiting: speed-up", 1.43),
    Published("P3.7", "share of unzipping", 0.298),
    Published("P3.7", "share of decoding", 0.662),
    Published("P3.7", "unzipped, two files over single-threaded", 5755 / 2843),
    Published("P3.7", "unzipped, shared cache over single-threaded", 5839 / 2843),
    Published("P3.8", "halves of the file: speed-up", 1.90),
    Published("P4.2", "10 events on 15 threads, of the maximum", 0.976),
    Published("P4.2", "10 events on 20 threads, of the maximum", 0.998),
    Published("P4.3", "TBB scales to", 2000.0, "events"),
    Published("P4.3", "libdispatch scales to", 1600.0, "events"),
    Published("P4.3", "single-threaded memory ends at", 3000.0, "events"),
    Published("P4.4", "empty modules, single-threaded", 1_460_000.0, "/s"),
    Published("P4.4", "empty modules, TBB", 375_000.0, "/s"),
    Published("P4.4", "empty modules, TBB over single-threaded", 375 / 1460),
    Published("P4.4", "empty modules, libdispatch", 3_600.0, "/s"),
    Published("P5.2", "full reconstruction of 5 s, estimated to scale to", 40.0, "cores"),
    Published("P5.4", "buffered better than locked from", 5.0, "cores"),
)
_BY_NAME = {(each.line, each.name): each for each in VALUES}


def published(line: str, name: str) -> Published:
    """Returns a published value. Raises KeyError if it is not in the list."""
    return _BY_NAME[line, name]


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
