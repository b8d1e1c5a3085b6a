"""Joins histograms of the same form into one, with an additional axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from forkrun import _core
from forkrun.base.quantities import plural
from forkrun.config.modules import NOMINAL, varied_label
from forkrun.histograms.axes import AxisKind, HistogramAxis
from forkrun.histograms.parts import Named
from forkrun.histograms.sums import HistogramSums

VARIATION = "variation"
"""Title of the axis of variations."""
MOST_AXES = 3
"""Including the added axis: histograms with more axes are sparse in a ROOT file."""


def stacked(title: str, names: Sequence[str], parts: Mapping[str, HistogramSums]) -> HistogramSums:
    """Joins parts along a last axis of categories; missing parts are empty. Raises ValueError if
    their forms differ."""
    total = next(iter(parts.values())).copy()
    for part in parts.values():
        total.cover(part)
    axis = HistogramAxis(
        AxisKind.CATEGORY, title, tuple(names), False, False, n_declared=len(names)
    )
    axes, every = (*total.axes, axis), [np.arange(axis.extent) for axis in total.axes]
    stack = replace(total, axes=axes, exact=_core.ExactSums(
        total.exact.n_sums, total.exact.n_cells * len(names)))  # fmt: skip
    for number, name in enumerate(names):
        if name in parts:
            own = parts[name].copy()
            own.spread_to(total.axes)
            own.move_to(axes, [*every, np.array([number])])
            stack.exact.merge(own.exact)
    return stack


def restacked(
    title: str, before: tuple[str, ...], names: tuple[str, ...], sums: HistogramSums
) -> HistogramSums:
    """The sums with the categories `names` along their last axis, if it has this title and the
    categories `before`. Removed categories are empty."""
    *others, last = sums.axes
    if before == names or (last.kind, last.title, last.bins) != (AxisKind.CATEGORY, title, before):
        return sums
    axis = replace(last, bins=names, n_declared=len(names))
    numbers = {name: number for number, name in enumerate(names)}
    every = [np.arange(other.extent) for other in others]
    result = sums.copy()
    result.move_to((*others, axis), [*every, np.array([numbers.get(n, 0) for n in before])])
    return result


def with_variations(taken: Sequence[Named], varied: Mapping[str, Sequence[str]]) -> list[Named]:
    """Joins the histograms in `varied`, variations by label of the analyzer; others stay
    unchanged."""
    by_name = {(module, name): histogram for module, name, histogram in taken}
    calls = {varied_label(m, v) for m, names in varied.items() for v in names}
    found = []
    for module, name, histogram in taken:
        if variations := varied.get(module):
            label = {v: module if v == NOMINAL else varied_label(module, v) for v in variations}
            parts = {v: by_name[label[v], name] for v in variations}
            found.append((module, name, stacked(VARIATION, variations, parts)))
        elif module not in calls:
            found.append((module, name, histogram))
    return found


def axes_problems(
    n_axes: Mapping[tuple[str, str], int], varied: Mapping[str, Sequence[str]]
) -> list[str]:
    """Problems of histograms, by module and name, without room for the axis."""
    return [
        f'module "{module}", histogram "{name}": it has {plural(n, "axis")} and gets one'
        f" more for its variations ({', '.join(varied[module][1:3])}, …); at most {MOST_AXES} are "
        "allowed with it: fill histograms with fewer axes"
        for (module, name), n in n_axes.items()
        if module in varied and n >= MOST_AXES
    ]
