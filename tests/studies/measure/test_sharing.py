"""The arithmetic of sharing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkrun.studies.measure.memory import Mix, saving

sizes = st.floats(1e3, 1e12)
counts = st.integers(1, 1000)


def test_the_reference_case_allows_a_saving_of_63_percent() -> None:
    assert Mix(700e6, 375e6).ideal_saving(32) == pytest.approx(31 * 700 / (32 * 1075))
    assert round(100 * Mix(700e6, 375e6).ideal_saving(32), 2) == 63.08


@given(sizes, sizes, counts)
def test_without_files_the_ideal_is_the_formula_of_the_field(s: float, p: float, n: int) -> None:
    assert Mix(s, p).ideal_saving(n) == pytest.approx((n - 1) * s / (n * (s + p)), abs=1e-12)


@given(sizes, sizes, sizes, counts)
def test_forked_children_never_need_more_and_one_needs_the_same(
    shared: float, private: float, files: float, n: int
) -> None:
    mix = Mix(shared, private, files)
    assert mix.forked_bytes(n) <= mix.separate_bytes(n) * (1 + 1e-12)
    assert mix.forked_bytes(1) == mix.separate_bytes(1)
    assert mix.ideal_saving(n) <= mix.ideal_saving(n + 1) + 1e-12


def test_nothing_saves_nothing() -> None:
    assert saving(0.0, 0.0) == 0.0
    assert saving(25.0, 100.0) == 0.75
