"""Expressions of columns, as RDataFrame's strings are, of Awkward Arrays."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import awkward as ak
import numpy as np
import pytest

import forkrun
from forkrun.modules.expressions import Expression
from tests.analysis.objects_file import N_MUONS, write_objects

BLOCK = SimpleNamespace(
    nMuon=np.array([2, 0, 3]),
    MET_pt=np.array([10.0, 20.0, 30.0]),
    flag=np.array([True, False, True]),
    Jet_pt=ak.Array([[50.0, 20.0], [], [70.0]]),
    Jet=ak.zip({"pt": ak.Array([[50.0, 20.0], [], [70.0]])}),
    hits=ak.Array([[[1, 2], [3]], [], [[]]]),
    xyz=np.arange(9).reshape(3, 3),
    index=ak.Array([[1, -1], [], [0, 5]]),
    column_types={"JetsAuxDyn.pt": "float32[]"},
    **{"JetsAuxDyn.pt": ak.Array([[5.0], [], [7.0]])},
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
        ("1 if MET_pt > 15 else -1", [-1, 1, 1]),
        ("where(flag, MET_pt, 0)", [10, 0, 30]),
        ("min(Jet_pt[:, :1])", [50, None, 70]),
        ("(nMuon & 1) > 0 and ( nMuon | 2 ) == 3", [False, False, True]),
        ("(nMuon > 1) & (MET_pt > 15)", [False, False, True]),
        ("Jet_pt[0]", [50, None, 70]),
        ("Jet_pt[:, 1]", [20, None, None]),
        ("Jet_pt[-1]", [20, None, 70]),
        ("Jet_pt[-2]", [50, None, None]),
        ("Jet_pt[1:]", [[20], [], []]),
        ("Jet[0].pt - Jet[1].pt", [30, None, None]),
        ("Jet.pt[argmin(Jet.pt)]", [20, None, 70]),
        ("Jet_pt[nMuon > 2]", [[], [], [70]]),
        ("MET_pt[nMuon > 1]", [10, None, 30]),
        ("Jet_pt[index]", [[20, None], [], [70, None]]),
        ("hits[0][-1]", [2, None, None]),
        ("xyz[1]", [1, 4, 7]),
        ("xyz[1:]", [[1, 2], [4, 5], [7, 8]]),
        ("JetsAuxDyn.pt[0] + 1", [6, None, 8]),
        ("Sum(Jet_pt > 30) + Jet_pt.size()", [3, 0, 2]),
        ("Sum$(Jet_pt) + Length$(Jet_pt)", [72, 0, 71]),
        ("std::abs(-MET_pt) + TMath::Max(nMuon, 2)", [12, 22, 33]),
        ("max(Jet_pt, 60)", [[60, 60], [], [70]]),
    ],
)
def test_what_it_gives(text: str, values: list[Any]) -> None:
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
        ("My::Abs(MET_pt)", "have no place"),
        ("MET_pt ^ 2", "write x ** 2"),
        ("nMuon > 1 & MET_pt > 15", "write && and ||"),
        ("(nMuon | MET_pt > 15) > 2", "write && and ||"),
        ("MET_pt > 15 ? 1 : 0", "is written where(c, a, b)"),
    ],
)
def test_what_it_refuses(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".*") as error:
        Expression(text)
    assert message in str(error.value)


def test_a_sum_over_one_value_per_event_is_refused() -> None:
    with pytest.raises(TypeError, match="one value per event"):
        Expression("sum(MET_pt)")(BLOCK)


@pytest.mark.parametrize("text", ["MET_pt[0]", "Jet_pt[0, 1]", "Jet_pt[:1, 0]", "sum(Jet_pt, 2)"])
def test_what_is_not_of_each_event_is_refused(text: str) -> None:
    with pytest.raises(
        TypeError, match=r"one value per event|within each event|one list per event"
    ):
        Expression(text)(BLOCK)


def test_an_index_is_of_each_event_whatever_the_size_of_blocks(tmp_path: Path) -> None:
    """Awkward's own `[0]` is the first event of a block."""
    file = write_objects(tmp_path / "objects.root")
    sums = []
    for size in (1, 4):
        job = forkrun.Job(file, threads={"block_size": size})
        job.hist("Muon_pt[0]", (9, 0, 90), name="first")
        result = job.run(children=0, output=tmp_path / f"run-{size}", quiet=True, plots=False)
        sums.append(result.histograms["first"].sum(flow=True).value)
    assert sums == [sum(n > 0 for n in N_MUONS)] * 2
