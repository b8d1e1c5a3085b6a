"""Values and offsets of arrays, whichever layout these have."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import awkward as ak
import numpy as np
import pytest

from forkrun.modules.columns import offsets_of, values_of
from forkrun.modules.missing_values import leaf_type
from forkrun.modules.returned import column_type, columns_of

LISTS = ak.Array([[1, 2], [], [3], [4, 5, 6]])


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (LISTS, [[1, 2], [], [3], [4, 5, 6]]),
        (LISTS[1:], [[], [3], [4, 5, 6]]),
        (LISTS[[3, 0]], [[4, 5, 6], [1, 2]]),
        (LISTS[LISTS != 2], [[1], [], [3], [4, 5, 6]]),
        (ak.mask(LISTS, LISTS > 0), [[1, 2], [], [3], [4, 5, 6]]),
        (ak.Array(np.arange(6).reshape(3, 2)), [[0, 1], [2, 3], [4, 5]]),
        (ak.Array([[], []]), [[], []]),
    ],
    ids=["lists", "from the second on", "in other order", "cut", "options", "regular", "empty"],
)
def test_offsets_and_values_are_those_of_the_lists(
    array: ak.Array, expected: list[list[int]]
) -> None:
    offsets, values = offsets_of(array), values_of(array)
    assert offsets[0] == 0
    assert [values[a:b].tolist() for a, b in pairwise(offsets)] == expected


def test_missing_values_are_refused() -> None:
    with pytest.raises(ValueError, match="missing"):
        values_of(ak.Array([[1, None]]))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([[1.5], []], "float64"),
        ([None, 1], "int64"),
        (["a", "b"], None),
        ([["a"], []], None),
        ([b"a"], None),
        ([{"x": 1}], None),
        ([1, "a"], None),
        ([], None),
    ],
)
def test_a_type_of_numbers_is_that_of_numbers_alone(values: list[Any], expected: str) -> None:
    found = leaf_type(ak.Array(values).layout)
    assert (found and found.name) == expected


def test_integers_of_a_list_are_exact_or_refused() -> None:
    for large in ([1, 2**60 + 1], [[1], [2**60 + 1]]):
        kind = column_type("x", large)
        assert kind in ("int64", "int64[]")
        values = columns_of({"x": large}, {"x": kind}, 2)["x"]
        assert 2**60 + 1 in (values[1] if kind == "int64[]" else values)
        with pytest.raises(TypeError, match=r"would round the integer 1152921504606846977.*astype"):
            columns_of({"x": large}, {"x": kind.replace("int", "float")}, 2)
    assert columns_of({"x": [1, 2**60]}, {"x": "float64"}, 2)["x"].tolist() == [1, 2**60]
