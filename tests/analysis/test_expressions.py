"""Expressions of columns, as RDataFrame's strings are, of Awkward Arrays."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import awkward as ak
import numpy as np
import pytest

from forkrun.modules.expressions import Expression

BLOCK = SimpleNamespace(
    nMuon=np.array([2, 0, 3]),
    MET_pt=np.array([10.0, 20.0, 30.0]),
    flag=np.array([True, False, True]),
    Jet_pt=ak.Array([[50.0, 20.0], [], [70.0]]),
    Jet=ak.zip({"pt": ak.Array([[50.0, 20.0], [], [70.0]])}),
)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("nMuon >= 2", [True, False, True]),
        ("nMuon >= 2 && MET_pt > 15", [False, False, True]),
        ("nMuon >= 2 and MET_pt > 15 or nMuon == 0", [False, True, True]),
        ("nMuon == 0 || MET_pt > 25", [False, True, True]),
        ("!flag", [False, True, False]),
        ("not flag && nMuon != 3", [False, True, False]),
        ("15 < MET_pt <= 20", [False, True, False]),
        ("sum(Jet_pt > 30)", [1, 0, 1]),
        ("max(Jet_pt)", [50, None, 70]),
        ("num(Jet_pt) + 1", [3, 1, 2]),
        ("any(Jet.pt > 60)", [False, False, True]),
        ("Jet_pt[Jet_pt > 30] / 10", [[5], [], [7]]),
        ("sqrt(MET_pt**2)", [10, 20, 30]),
        ("MET_pt > 15 ? 1 : 0", None),
        ("1 if MET_pt > 15 else -1", [-1, 1, 1]),
        ("where(flag, MET_pt, 0)", [10, 0, 30]),
        ("min(Jet_pt[:, :1])", [50, None, 70]),
    ],
)
def test_what_it_gives(text: str, values: list[Any] | None) -> None:
    if values is None:
        with pytest.raises(ValueError, match="is no expression"):
            Expression(text)
        return
    assert ak.to_list(Expression(text)(BLOCK)) == values


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nMuon >=", "'nMuon >=' is no expression"),
        ("__import__('os')", "'__import__' has no place"),
        ("nMuon.__class__", "'__class__' has no place"),
        ("[x for x in nMuon]", "ListComp has no place"),
        ("nMuon == 'two'", "'two' is neither a number nor a column"),
        ("lambda: 1", "Lambda has no place"),
        ("TMath::Abs(MET_pt)", "have no place"),
    ],
)
def test_what_it_refuses(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".*") as error:
        Expression(text)
    assert message in str(error.value)


def test_a_sum_over_one_value_per_event_is_refused() -> None:
    with pytest.raises(TypeError, match="one value per event"):
        Expression("sum(MET_pt)")(BLOCK)
