"""A weight for each entry and variation, in one fill."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hist
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forkrun.histograms.booking import BookedHistogram

NAMES = ["nominal", "up", "down"]
NEW = hist.Hist.new
CASES: dict[str, Callable[[list[str]], Any]] = {
    "regular first": lambda v: NEW.Reg(5, 0, 1, name="x").StrCat(v, name="v").Weight(),
    "variations first": lambda v: NEW.StrCat(v, name="v").Var([0, 0.1, 1], name="x").Double(),
    "growing": lambda v: NEW.Reg(5, 0, 1, name="x").StrCat(v[:1], name="v", growth=True).Weight(),
    "no flow bins": lambda v: NEW.Reg(5, 0, 1, name="x", flow=False).StrCat(v, name="v").Weight(),
    "profile": lambda _: NEW.StrCat([], growth=True, name="v").Reg(5, 0, 1, name="x")
    .WeightedMean(),
}  # fmt: skip


def booked(histogram: Any) -> tuple[Any, BookedHistogram]:
    made = BookedHistogram("h", histogram)
    return made.histogram, made


@pytest.mark.parametrize("case", CASES)
@given(st.integers(0, 60), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=20)
def test_one_fill_is_a_fill_for_each_variation(case: str, n: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    x, weights = random.uniform(-0.1, 1.1, n), random.normal(size=(n, 3)) * 1e6
    options = {"sample": x} if case == "profile" else {}
    one, total = booked(CASES[case](NAMES))
    each, expected = booked(CASES[case](NAMES))
    one.fill(x=x, v=NAMES, weight=weights, **options)
    for name, weight in zip(NAMES, weights.T, strict=True):
        each.fill(x=x, v=name, weight=weight, **options)
    if n > 0:
        assert total.take("m").axes == expected.take("m").axes
        assert np.array_equal(total.take("m").sums, expected.take("m").sums)
        assert total.take("m").sums.any()


def test_categories_of_entries_may_grow_as_well() -> None:
    histogram, _ = booked(
        NEW.StrCat([], growth=True, name="flavour").StrCat([], growth=True, name="v").Weight()
    )
    flavours = ["b", "c", "b", "b"]
    histogram.fill(flavour=flavours, v=NAMES, weight=np.arange(12.0).reshape(4, 3))
    assert histogram["b", "up"].value == 1 + 7 + 10
    assert histogram["c", "down"].value == 5
    assert list(histogram.axes["v"]) == NAMES


@pytest.mark.parametrize(
    ("fill", "message"),
    [
        ({"x": [0.5, 0.5], "v": "up"}, "3 names of variations, and none has"),
        ({"x": [0.5, 0.5], "v": ["up", "down"]}, "3 names of variations, and none has"),
        ({"x": [0.5, 0.5, 0.5], "v": NAMES}, "compatible lengths"),
    ],
)
def test_a_matrix_of_another_shape_is_refused(fill: dict[str, Any], message: str) -> None:
    histogram, total = booked(CASES["regular first"](NAMES))
    with pytest.raises(ValueError, match=message):
        histogram.fill(**fill, weight=np.ones((2, 3)))
    assert not total.take("m").sums.any()
