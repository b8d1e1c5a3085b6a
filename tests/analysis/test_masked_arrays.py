"""Masked arrays of NumPy, as `ak.to_numpy` makes of None, are None wherever a job takes arrays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import awkward as ak
import hist
import numpy as np
import pytest
import uproot

import forkrun
from forkrun.conditions import BinnedTable
from forkrun.modules.base import Analyzer
from forkrun.modules.block import chosen_events
from forkrun.modules.random import as_values
from forkrun.modules.returned import columns_of, decision_of
from tests.analysis.objects_file import N_MUONS, write_objects

QUIET: dict[str, Any] = {"quiet": True, "plots": False}
MASKED = np.ma.array([1.5, 2.5, 3.5], mask=[False, True, False])
LISTS = MASKED.astype(int).reshape(3, 1)
WHOLE = np.ma.array([1.5, 2.5, 3.5], mask=[False] * 3)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_objects(tmp_path / "objects.root")


def leading(events: Any) -> Any:
    return ak.to_numpy(ak.firsts(events.Muon.pt))


def test_filters_histograms_and_columns_take_them_as_none(file: Path) -> None:
    job = forkrun.Job(file)
    filters: dict[str, Callable[[Any], Any]] = {
        "below": lambda b: leading(b) < 14, "above": lambda b: leading(b) > 14,
        "not_above": lambda b: ~(leading(b) > 14), "awkward": lambda b: ak.firsts(b.Muon.pt) < 14,
    }  # fmt: skip
    for name, function in filters.items():
        job.path(name).filter(function, label=f"f_{name}")
        job.path(name).hist("MET_pt", (1, 0, 100), name=name)
    job.hist(leading, (1, 0, 100), name="values")
    job.hist("MET_pt", (1, 0, 100), name="weights", weight=leading)
    job.hist(lambda e: (leading(e), e["MET_pt"]), (1, 0, 99), (1, 0, 99), name="plane")
    job.hist(lambda e: e[leading(e) < 14]["MET_pt"], (1, 0, 99), name="chosen")

    @job.producer(produces={"lead": "float32"})
    def lead(block: Any) -> Any:
        return {"lead": leading(block)}

    result = job.output("events", keep=["lead"]).run(children=0, **QUIET)
    found = {name: h.view(flow=True)["value"].sum() for name, h in result.histograms.items()}
    pt = [10, None, 12, 13, 16, 18]
    below = sum(each is not None and each < 14 for each in pt)
    above = sum(each is not None and each > 14 for each in pt)
    assert found == {
        "below": below, "above": above, "not_above": below, "awkward": below, "chosen": below,
        "values": 5, "weights": 10 + 12 + 13 + 16 + 18, "plane": 5,
    }  # fmt: skip
    written = uproot.open(result.outputs["events"])["Events"]["lead"].array(library="np")
    assert np.isnan(written).tolist() == [n == 0 for n in N_MUONS]


def test_a_filter_refuses_what_is_masked() -> None:
    accepted, missing = decision_of(MASKED > 2, 3)
    assert missing is not None
    assert (accepted.tolist(), missing.tolist()) == ([False, False, True], [False, True, False])


@pytest.mark.parametrize(
    ("take", "words"),
    [
        (lambda: columns_of({"n": MASKED.astype(int)}, {"n": "int32"}, 3), "None for 1 of 3"),
        (lambda: columns_of({"n": LISTS}, {"n": "int32[]"}, 3), "None for 1 of 3"),
        (lambda: columns_of({"n": LISTS}, {"n": "int32[1]"}, 3), "?int64"),
        (lambda: as_values(MASKED), "None"),
    ],
)  # fmt: skip
def test_where_none_is_refused_so_are_they(take: Callable[[], Any], words: str) -> None:
    with pytest.raises((TypeError, ValueError)) as error:
        take()
    assert words in str(error.value)


@pytest.mark.parametrize("values", [MASKED, ak.from_numpy(MASKED)])
def test_entries_without_a_value_or_weight_are_not_filled(values: Any) -> None:
    kept = MASKED.compressed()
    for given in ({"x": values}, {"x": WHOLE, "weight": values}):
        plain = {
            key: kept if each is values else WHOLE[~MASKED.mask] for key, each in given.items()
        }
        assert booked().fill(**given) == booked().fill(**plain)
    assert booked().fill(values, weight=2) == booked().fill(kept, weight=2)
    names = hist.Hist.new.Reg(5, 0, 5).StrCat([], growth=True).Weight()
    both = Analyzer().book("n", names).fill(values, ["a", "b", "c"])
    assert [*both.axes[1]] == ["a", "c"]


def booked() -> Any:
    return Analyzer().book("h", hist.Hist.new.Reg(5, 0, 5, name="x").Weight())


def test_those_without_a_masked_value_are_arrays() -> None:
    assert decision_of(WHOLE > 2, 3).accepted.tolist() == [False, True, True]
    assert chosen_events(MASKED > 1, 3).tolist() == [True, False, True]
    made = columns_of({"n": WHOLE}, {"n": "float32"}, 3)["n"]
    assert made.tolist() == [1.5, 2.5, 3.5]
    filled = booked()
    filled.fill(WHOLE, weight=WHOLE)
    assert filled.values().tolist() == [0, 1.5, 2.5, 3.5, 0]
    analyzer = Analyzer()
    analyzer.accumulate("sum", MASKED)
    assert analyzer.__dict__["_accumulated"]["sum"].result() == 5.0


def test_a_table_gives_none_for_what_is_masked() -> None:
    table = BinnedTable((np.array([0.0, 2.0, 4.0]),), np.arange(4.0), np.arange(4.0))
    assert ak.to_list(table(MASKED)) == [1, None, 2]
    assert table(np.array([1.0, 3.0])).tolist() == [1, 2]
