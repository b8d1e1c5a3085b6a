"""Which code may change what others use as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import awkward as ak
import numpy as np
import pytest

from forkrun.modules.program.code_uses import may_change

TABLE, SEEN, ROWS, KNOWN = np.arange(3), set[int](), list[int](), dict[int, int]()


def adds(_: Any) -> None:
    SEEN.add(3)


def sorts(_: Any) -> None:
    ROWS.sort()


def increases(_: Any) -> None:
    table = TABLE
    table += 1


def increases_a_part(_: Any) -> None:
    part = TABLE[:]
    part += 1


def masks_an_argument(events: Any, mask: Any) -> None:
    mask &= events


def stores(_: Any) -> None:
    KNOWN[3] = 4


def writes_into(_: Any) -> None:
    np.add(TABLE, 1, out=TABLE)


def appends_by_another_name(_: Any) -> None:
    rows = ROWS
    rows.append(1)


def masks_its_own(events: Any) -> Any:
    mask = events.x > 3
    mask &= events.y > 4
    return mask


def counts(_: Any) -> int:
    total = 0
    for each in range(3):
        total += each
    return total


def sorts_anew(events: Any) -> Any:
    return ak.sort(events.x), np.add(1, 2)


def collects(events: Any) -> list[Any]:
    rows = []
    for each in events:
        rows.append(each)
    return rows


CHANGES = (
    adds, sorts, increases, increases_a_part, masks_an_argument, stores, writes_into,
    appends_by_another_name,
)  # fmt: skip


@pytest.mark.parametrize("function", CHANGES)
def test_code_that_may_change_what_others_use_is_found(function: Callable[..., Any]) -> None:
    code = function.__code__
    assert may_change(code)


@pytest.mark.parametrize("function", [masks_its_own, counts, sorts_anew, collects])
def test_code_that_changes_its_own_is_not(function: Callable[..., Any]) -> None:
    code = function.__code__
    assert not may_change(code)
