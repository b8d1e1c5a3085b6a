"""Values and offsets of arrays, whichever layout these have."""

from __future__ import annotations

from itertools import pairwise

import awkward as ak
import numpy as np
import pytest

from forkrun.modules.columns import offsets_of, values_of

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
