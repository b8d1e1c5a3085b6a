"""Other bins are made of fine sums exactly as if they had been filled."""

from __future__ import annotations

from typing import Any

import hist
import numpy as np
import pytest

from forkrun.config.checks import Refused
from forkrun.config.modules import AxisConfig
from forkrun.histograms.axes import HistogramAxis
from forkrun.histograms.booking import BookedHistogram
from forkrun.histograms.configured_axes import filled_axes, made_of_fine, make_axis
from forkrun.histograms.parts import HistogramSums

RANGES = (
    (7, 0, 35), (49, 0, 49), (20, 0, 1), (10, -5, 5), (30, 0.1, 0.7), (50, 30.0, 430.0), (3, 1, 10),
)  # fmt: skip
WEIGHT = hist.storage.Weight


def sums(axes: list[Any], columns: list[Any], weights: Any) -> HistogramSums:
    booked = BookedHistogram("h", hist.Hist(*axes, storage=WEIGHT()))
    booked.histogram.fill(*columns, weight=weights)
    return booked.take("m")


def entries(rng: Any, n: int, low: float, high: float) -> Any:
    """Anywhere, on edges of many axes, integers, next to edges, and special ones."""
    edges = np.linspace(low, high, 20 * n + 1)
    around = rng.choice(edges, 60)
    near = (np.nextafter(around, np.inf), np.nextafter(around, -np.inf))
    special = [low, high, np.inf, -np.inf, np.nan, 0.0, -0.0]
    parts = (rng.uniform(low - 1, high + 1, 200), around, np.arange(low, high + 1), special)
    return np.concatenate([*parts, *(near if rng.random() < 0.5 else ())])


@pytest.mark.parametrize(("n", "low", "high"), RANGES)
def test_other_bins_are_those_of_fills(n: int, low: float, high: float) -> None:
    rng, n_made = np.random.default_rng(n), 0
    given = {"bins": n, "low": low, "high": high, "keep_fine": True}
    for _ in range(4):
        values = entries(rng, n, low, high)
        weights = rng.normal(size=len(values)) * 10.0 ** rng.integers(-20, 20, len(values))
        fine = sums(filled_axes([given], "h"), [values], weights)
        wanted: list[dict[str, Any]] = [given, {**given, "bins": 2 * n}, {**given, "bins": 5 * n}]
        wanted += [{**given, "bins": k} for k in (1, 4, 10, 20) if 20 * n % k == 0]
        wanted += [{"edges": [low, low + (high - low) / 4, high]}, {**given, "bins": 20 * n + 1}]
        for number, other in enumerate(wanted):
            axis = make_axis(other, 0, "h")
            try:
                made = made_of_fine(fine, {0: axis})
            except ValueError:
                assert number > 0, "its own bins are always made"
                continue
            n_made += 1
            direct = sums([axis], [values], weights)
            assert made.axes == direct.axes
            assert np.array_equal(made.exact.packed(), direct.exact.packed())
    assert n_made > 8


def test_several_axes_and_others_that_are_not_fine() -> None:
    rng = np.random.default_rng(4)
    x, y, kind = rng.normal(size=500), rng.uniform(size=500), rng.choice(["a", "b"], 500)
    given: list[dict[str, Any]] = [
        {"bins": 10, "low": -2, "high": 2, "keep_fine": True}, {"categories": ["a", "b"]},
        {"edges": [0, 0.5, 1], "keep_fine": True},
    ]  # fmt: skip
    fine = sums(filled_axes(given, "h"), [x, kind, y], x)
    other = [{"bins": 8, "low": -2, "high": 2}, given[1], {"bins": 4, "low": 0, "high": 1}]
    axes = [make_axis(axis, number, "h") for number, axis in enumerate(other)]
    made, direct = made_of_fine(fine, {0: axes[0], 2: axes[2]}), sums(axes, [x, kind, y], x)
    assert made.axes == direct.axes
    assert np.array_equal(made.exact.packed(), direct.exact.packed())
    assert fine.axes == tuple(HistogramAxis.from_json(_as_read(axis)) for axis in fine.axes)


def _as_read(axis: HistogramAxis) -> Any:
    import json

    return json.loads(axis.as_json)


def test_edges_within_filled_fine_bins_are_refused() -> None:
    given = {"bins": 10, "low": 0, "high": 10, "keep_fine": True}
    fine = sums(filled_axes([given], "h"), [np.array([0.52, 3.2, -4.0])], None)
    for other, edge in (({"edges": [0, 0.52, 10]}, "0.52"), ({"edges": [-5, 5]}, "-5")):
        with pytest.raises(ValueError, match=f"no fine bin begins at {edge}"):
            made_of_fine(fine, {0: make_axis(other, 0, "h")})
    assert made_of_fine(fine, {0: make_axis({"edges": [0, 7.77, 10]}, 0, "h")}).sums[0, 1] == 2


def test_axes_without_finer_bins_are_refused() -> None:
    for axis in (
        {"categories": ["a"]}, {"start": 0, "stop": 4}, {"growth": True},
        {"bins": 3, "low": 1, "high": 9, "log": True},
    ):  # fmt: skip
        with pytest.raises(Refused, match="keep_fine needs bins, low and high"):
            AxisConfig(**axis, keep_fine=True)
    wide = {"bins": 100, "low": 0, "high": 10, "keep_fine": True}
    with pytest.raises(ValueError, match="bins of it; 4,194,304 at most are kept"):
        filled_axes([wide, wide], "h")
    with pytest.raises(ValueError, match="do not increase"):
        filled_axes([{"bins": 4, "low": 1e15, "high": 1e15 + 1, "keep_fine": True}], "h")
