"""Columns of floats on regular and variable axes take a way of their own, with what hist gives."""

from __future__ import annotations

import math
from typing import Any

import awkward as ak
import boost_histogram as bh
import hist
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forkrun.histograms.booking import BookedHistogram

EDGES = [0.1, 0.5, 2.0, 5.0, 9.9, 10.0]
AXES = [
    lambda name, u=u, o=o: hist.axis.Regular(7, 0.1, 10, underflow=u, overflow=o, name=name)
    for u in (True, False)
    for o in (True, False)
] + [
    lambda name, u=u, o=o: hist.axis.Variable(EDGES, underflow=u, overflow=o, name=name)
    for u in (True, False)
    for o in (True, False)
]
INF = float("inf")
NUMBERS = st.floats(-2, 12, width=32) | st.sampled_from([0.1, 5.0, 9.9, 10.0, INF, -INF, math.nan])


def plainly(booked: BookedHistogram, *args: Any, weight: Any = None, **named: Any) -> bool:
    """Whether the fill took the way of plain columns."""
    return booked.fills.fill_plainly(args, weight, None, named)


@pytest.mark.quick_cases(6)
@pytest.mark.parametrize("make", AXES)
@pytest.mark.parametrize("kind", [np.float64, np.float32])
@given(values=st.lists(NUMBERS, min_size=1, max_size=40))
@settings(deadline=None, max_examples=40)
def test_plain_columns_are_in_the_bins_of_boost_histogram(
    make: Any, kind: Any, values: list[float]
) -> None:
    x = np.array(values, dtype=kind)
    theirs = hist.Hist(make("x"), make("y"), storage=hist.storage.Weight())
    counted, weighted = BookedHistogram("h", theirs), BookedHistogram("h", theirs)
    assert plainly(counted, x, x[::-1].copy())
    assert plainly(weighted, x, x[::-1].copy(), weight=np.ones_like(x))
    theirs.fill(x, x[::-1])
    assert np.array_equal(counted.histogram.view(flow=True), theirs.view(flow=True))
    assert np.array_equal(weighted.histogram.view(flow=True), theirs.view(flow=True))


@pytest.mark.parametrize("n_bins", [7, 1000])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_weights_of_plain_columns_are_summed_as_fsum_does(n_bins: int, kind: Any) -> None:
    random = np.random.default_rng(1)
    x = random.random(10_000)
    w = (random.normal(size=len(x)) * 10.0 ** random.integers(-3, 3, len(x))).astype(kind)
    booked = BookedHistogram("h", hist.Hist.new.Reg(n_bins, 0, 1, name="x").Weight())
    assert plainly(booked, weight=w, x=x)
    h = booked.histogram
    bins = (x * n_bins).astype(int)
    w = w.astype(np.float64)
    for n in range(7):
        assert h[n].value == math.fsum(w[bins == n].tolist())
        assert h[n].variance == math.fsum((w[bins == n] ** 2).tolist())


def test_fills_of_both_ways_add_up() -> None:
    booked = BookedHistogram("h", hist.Hist.new.Reg(2, 0, 2, name="x").Double())
    h = booked.histogram
    x = np.array([0.5, 1.5, 1.5])
    h.fill(x)
    h.fill(ak.Array([0.5]), weight=ak.Array([4.0]))
    assert h.values().tolist() == [5, 2]
    h.fill([0.5, 1.5])
    h.fill(x.astype(np.float32), weight=8.0)
    assert h.values().tolist() == [14, 19]
    h[0] = 100
    h.fill(x=x)
    assert h.values().tolist() == [101, 21]
    booked.clear()
    h.fill(x)
    assert h.values().tolist() == [1, 2]


def test_other_fills_take_the_way_of_the_class() -> None:
    x = np.array([0.5])
    regular = hist.Hist.new.Reg(2, 0, 2, name="x").Reg(2, 0, 2, name="y").Weight()
    booked = BookedHistogram("h", regular)
    regular = booked.histogram
    others = [(x,), (x, [0.5]), (x, np.array([1])), (x, np.array([0.5, 0.5])), (x, np.array(0.5))]
    assert [plainly(booked, *args) for args in others] == [False] * 5
    assert not plainly(booked, x, x, weight=2)
    assert not plainly(booked, x, x, weight=np.ones(2))
    assert not plainly(booked, x, y=x)
    assert not plainly(booked, x=x, z=x)
    assert not plainly(booked, np.ones(4)[::2], np.ones(4)[::2])
    assert regular.sum().value == 0
    for storage in (bh.storage.Int64(), bh.storage.Mean()):
        one = BookedHistogram("h", hist.Hist(hist.axis.Regular(2, 0, 2), storage=storage))
        assert not plainly(one, x)
    circular = {"circular": True}
    for axis in (
        hist.axis.Integer(0, 2),
        hist.axis.Variable([0, 1, 2], **circular),
        hist.axis.Regular(2, 0, 2, **circular),
    ):
        assert not plainly(BookedHistogram("h", hist.Hist(axis)), x)
    by_name = BookedHistogram("h", hist.NamedHist(hist.axis.Regular(2, 0, 2, name="x")))
    assert not plainly(by_name, x)
    assert plainly(by_name, x=x)
