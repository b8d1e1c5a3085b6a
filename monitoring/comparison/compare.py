"""Comparison of runs in columns, from their reports; repeats of one job share a column."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from msgspec import Struct

from forkrun.base.nearest import suggestion
from forkrun.base.regular_file import read_regular
from forkrun.errors import ConfigError, InputError
from forkrun.monitoring.timing.model import read_timing
from forkrun.rundir.directory import RunDirectory


class Figure(Struct, frozen=True):
    """Value of a report. `place`: keys in report.json; `form`: of FORMS in monitoring/tables.py;
    `word`: on the page, which explains it; `per`: keys of the divisor."""

    place: tuple[str, ...]
    text: str
    form: str
    word: str
    per: tuple[str, ...] = ()


_PER_EVENT = {"spent": ("spent", "n_events")}
"""Killed processes leave no times: times are compared per measured event."""

FIGURES = {
    name: Figure(
        tuple(place.split("/")), text, form, word, _PER_EVENT.get(place.partition("/")[0], ())
    )
    for name, place, text, form, word in (
        ("rate", "totals/rate_events_per_s", "events of the whole job", "rate", "rate"),
        (
            "loop_rate",
            "totals/event_loop_rate_events_per_s",
            "events in the event loops",
            "rate",
            "rate",
        ),
        ("wall", "phases/wall_s", "time of the whole job", "time", "of the job"),
        ("startup", "phases/startup_s", "start-up", "time", "start-up"),
        ("merge", "phases/merge_s", "merge", "time", "merge"),
        ("cpu", "totals/cpu_s", "CPU time of the event loops", "time", "CPU efficiency"),
        ("cpu_efficiency", "totals/cpu_efficiency", "CPU efficiency", "share", "CPU efficiency"),
        ("utilization", "balance/utilization", "utilization", "share", "utilization"),
        ("reading", "spent/reading_s", "threads reading, an event", "time", "reading"),
        ("unpacking", "spent/unpacking_s", "threads unpacking, an event", "time", "unpacking"),
        ("processing", "spent/processing_s", "threads processing, an event", "time", "processing"),
        ("committing", "spent/committing_s", "threads committing, an event", "time", "committing"),
        ("memory", "memory/peak/pss_bytes", "memory at its peak (PSS)", "size", "peak memory"),
        (
            "private",
            "memory/peak/private_bytes",
            "private memory at the peak",
            "size",
            "private",
        ),
        ("shared", "memory/peak/shared_bytes", "shared memory at the peak", "size", "shared"),
        ("read", "totals/read_bytes", "bytes read by the event loops", "size", "read"),
        ("read_calls", "totals/read_calls", "reads by the event loops", "count", "read calls"),
        ("output", "output", "size of all outputs", "size", "outputs"),
    )
}
"""Figures by the names that `--fail-if` knows."""


class Run(Struct, frozen=True):
    """`kind`: equal for repeats: configuration, build of forkrun, machine. `figures`: known ones,
    by name; `modules`: time per event, summed over threads [s]; `columns`: of the input, bytes read
    per event; `digests`: of the events of each output, None if it is not merged or has no ids;
    `threads`: of a child."""

    name: str
    kind: tuple[str, str, str]
    outcome: str
    children: int
    threads: int
    n_events: int
    figures: dict[str, float]
    modules: dict[str, float]
    columns: dict[str, float]
    digests: dict[str, str | None]


def read_run(path: Path) -> Run:
    """Reads the report of a run. Raises InputError if it is missing or unreadable."""
    report = _report(path)
    try:
        job, host = report["job"], report["job"]["host"] or {}
        outputs = report["events"]["outputs"]
        sizes = [output["n_bytes_merged"] for output in outputs]
        report["output"] = sum(sizes) if outputs and None not in sizes else None
        known = {name: _figure(report, figure) for name, figure in FIGURES.items()}
        build = host.get("versions", {}).get("forkrun", "")
        return Run(
            name=str(path),
            kind=(job["config_digest"], build, host.get("name", "")),
            outcome=job["outcome"],
            children=job["children"],
            threads=job["threads_per_child"],
            n_events=report["events"]["n_events_read"],
            figures={name: value for name, value in known.items() if value is not None},
            modules=_modules(path),
            columns=_columns(report),
            digests={output["label"]: output["digest_merged"] for output in outputs},
        )
    except (AttributeError, LookupError, TypeError) as error:
        raise InputError(
            f"{path}/report.json has an unexpected form ({error!r});"
            f" forkrun report {RunDirectory(path).quoted} makes it again"
        ) from error


def _report(path: Path) -> dict[str, Any]:
    folder = RunDirectory(path)
    if not folder.config.exists():
        raise InputError(f"{path}: not a run directory (it has no {folder.config.name})")
    remedy = f"forkrun report {folder.quoted} makes it"
    try:
        report = json.loads(read_regular(folder.report_json))
    except FileNotFoundError:
        raise InputError(f"{path}: report.json is missing; {remedy}") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{folder.report_json}: cannot be read ({error}); {remedy}") from None
    if not isinstance(report, dict):
        raise InputError(f"{folder.report_json}: unexpected form; {remedy}")
    return report


def _figure(report: Mapping[str, Any], figure: Figure) -> float | None:
    value = _value(report, figure.place)
    if value is None or not figure.per:
        return value
    divisor = _value(report, figure.per)
    return value / divisor if divisor else None


def _value(report: Mapping[str, Any], place: tuple[str, ...]) -> float | None:
    value: Any = report
    for key in place:
        if value is None:
            return None
        value = value.get(key)
    return None if value is None else float(value)


def _modules(path: Path) -> dict[str, float]:
    try:
        timing = read_timing(path)
    except InputError:
        return {}
    n_events = timing.n_events or 1
    return {module.label: module.total_s / n_events for module in timing.modules if module.count}


def _columns(report: Mapping[str, Any]) -> dict[str, float]:
    costs = report.get("input") or {"columns": ()}
    n_events = costs.get("n_events") or report["events"]["n_events_read"] or 1
    return {cost["column"]: cost["read_bytes"] / n_events for cost in costs["columns"]}


_CONDITION = re.compile(r"\s*(\w+)\s*(<=|>=|<|>)\s*([0-9.]+)\s*")
_SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
}  # fmt: skip


class Spread(Struct, frozen=True):
    """Median, lowest and highest of the repeats; `ratio`: of medians, relative to the first column,
    None if one of them is unknown, or only the first is 0. `is_beyond_noise`: whether all repeats
    are outside the range of the first column's; None if one of the two has no repeats."""

    value: float
    low: float
    high: float
    n: int
    ratio: float | None
    is_beyond_noise: bool | None = None

    @property
    def noise(self) -> float | None:
        """Range of the repeats, as a fraction of the median; None for one run."""
        return (self.high - self.low) / self.value if self.n > 1 and self.value else None


class Column(Struct, frozen=True):
    """Repeats of one job. `figures`, `modules`, `columns`: by name; `same_outputs`: by label,
    whether the events equal those of the first column, None if unknown."""

    runs: tuple[Run, ...]
    figures: dict[str, Spread]
    modules: dict[str, Spread]
    columns: dict[str, Spread]
    same_outputs: dict[str, bool | None]


class Condition(Struct, frozen=True):
    """Condition of `--fail-if` on the ratio of a figure to the first column's."""

    text: str
    figure: str
    sign: str
    limit: float

    @classmethod
    def parsed(cls, text: str) -> Condition:
        """Parses the option's text. Raises ConfigError."""
        match = _CONDITION.fullmatch(text)
        if match is None:
            raise ConfigError(
                f'--fail-if {text!r}: write FIGURE < RATIO, such as "rate < 0.9" or "memory > 1.1"'
            )
        figure, sign, limit = match.groups()
        if figure not in FIGURES:
            known = ", ".join(FIGURES)
            hint = suggestion(figure, FIGURES)
            raise ConfigError(f'--fail-if: unknown figure "{figure}"{hint}; there are {known}')
        try:
            return cls(text.strip(), figure, sign, float(limit))
        except ValueError:
            raise ConfigError(f"--fail-if {text!r}: {limit} is not a number") from None

    def holds(self, column: Column) -> bool:
        """Whether the column fails; a condition on an unknown ratio counts as failed."""
        ratio = self._ratio(column)
        return ratio is None or _SIGNS[self.sign](ratio, self.limit)

    def described_for(self, column: Column) -> str:
        """Text of the condition, with the ratio."""
        ratio = self._ratio(column)
        if ratio is not None:
            return f"{self.text} ({ratio:.3f})"
        what = FIGURES[self.figure].text
        return f"{self.text}: not known, since one of the reports has no {what}, or the first one 0"

    def _ratio(self, column: Column) -> float | None:
        spread = column.figures.get(self.figure)
        return None if spread is None else spread.ratio


def compare(runs: Sequence[Run]) -> tuple[Column, ...]:
    """Groups runs into columns, in the order of their first runs."""
    groups: dict[tuple[str, str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault(run.kind, []).append(run)
    first = next(iter(groups.values()))
    return tuple(_column(group, first) for group in groups.values())


def _column(runs: Sequence[Run], first: Sequence[Run]) -> Column:
    labels = dict.fromkeys(label for run in (*first, *runs) for label in run.digests)
    return Column(
        tuple(runs),
        _spreads([run.figures for run in runs], [run.figures for run in first]),
        _spreads([run.modules for run in runs], [run.modules for run in first]),
        _spreads([run.columns for run in runs], [run.columns for run in first]),
        {label: _same(label, (*first, *runs)) for label in labels},
    )


def _spreads(
    values: Sequence[dict[str, float]], first: Sequence[dict[str, float]]
) -> dict[str, Spread]:
    spreads = {}
    for name in dict.fromkeys(name for each in values for name in each):
        known = [each[name] for each in values if name in each]
        reference = [each[name] for each in first if name in each]
        value = median(known)
        base = median(reference) if reference else 0.0
        ratio = value / base if base else 1.0 if reference and not value else None
        beyond = _is_beyond_noise(known, reference)
        spreads[name] = Spread(value, min(known), max(known), len(known), ratio, beyond)
    return spreads


def _is_beyond_noise(values: Sequence[float], first: Sequence[float]) -> bool | None:
    if min(len(values), len(first)) < 2:
        return None
    return min(values) > max(first) or max(values) < min(first)


def _same(label: str, runs: Iterable[Run]) -> bool | None:
    """Whether the output is the same in all runs; False if only some have it."""
    digests = {run.digests.get(label, "") for run in runs}
    return None if None in digests else len(digests) == 1
