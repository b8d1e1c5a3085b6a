"""Comparison of runs in columns; repeats of one job share a column."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from statistics import median

from msgspec import Struct

from forkrun.base.nearest import suggestion
from forkrun.errors import ConfigError
from forkrun.monitoring.comparison.runs import FIGURES, Run

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

    def said_of(self, column: Column) -> str:
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
    return Column(
        tuple(runs),
        _spreads([run.figures for run in runs], [run.figures for run in first]),
        _spreads([run.modules for run in runs], [run.modules for run in first]),
        _spreads([run.columns for run in runs], [run.columns for run in first]),
        _same_outputs(runs, first),
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


def _same_outputs(runs: Sequence[Run], first: Sequence[Run]) -> dict[str, bool | None]:
    labels = dict.fromkeys(label for run in (*first, *runs) for label in run.digests)
    return {label: _same(label, (*first, *runs)) for label in labels}


def _same(label: str, runs: Iterable[Run]) -> bool | None:
    """Whether the output is the same in all runs; False if only some have it."""
    digests = {run.digests.get(label, "") for run in runs}
    return None if None in digests else len(digests) == 1
