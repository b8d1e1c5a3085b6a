"""Joins the histograms of an analyzer that runs again for variations, with an additional axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from forkrun.base.quantities import plural
from forkrun.config.modules import NOMINAL, varied_label
from forkrun.histograms.parts import Named
from forkrun.histograms.stacked import MOST_AXES, stacked
from forkrun.histograms.sums import HistogramSums

AXIS = "variation"


def with_variations(taken: Sequence[Named], varied: Mapping[str, Sequence[str]]) -> list[Named]:
    """Joins the histograms in `varied`, variations by label of the analyzer; others stay
    unchanged."""
    by_name = {(module, name): histogram for module, name, histogram in taken}
    calls = {varied_label(m, v) for m, names in varied.items() for v in names}
    return [
        (module, name, _together(module, name, varied[module], by_name))
        if module in varied
        else (module, name, histogram)
        for module, name, histogram in taken
        if module not in calls
    ]


def _together(
    module: str,
    name: str,
    variations: Sequence[str],
    taken: Mapping[tuple[str, str], HistogramSums],
) -> HistogramSums:
    label = {v: module if v == NOMINAL else varied_label(module, v) for v in variations}
    return stacked(AXIS, variations, {v: taken[label[v], name] for v in variations})


def axes_problems(
    n_axes: Mapping[tuple[str, str], int], varied: Mapping[str, Sequence[str]]
) -> list[str]:
    """Problems of histograms, by module and name, without room for the axis."""
    return [
        f'module "{module}", histogram "{name}": it has {plural(n, "axis")} and gets one'
        f" more for its variations ({', '.join(varied[module][1:3])}, …); at most {MOST_AXES} are "
        "allowed with "
        "it: fill histograms with fewer axes"
        for (module, name), n in n_axes.items()
        if module in varied and n >= MOST_AXES
    ]
