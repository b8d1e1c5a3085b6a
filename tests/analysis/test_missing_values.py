"""Missing values (None) in expressions: logic of three values in all that takes conditions, and no
value per event that is taken for an index or meets the values of other events."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import forkrun
from forkrun import _core
from forkrun.base.notes import take_notes
from forkrun.modules.columns import as_array
from forkrun.modules.expressions import Expression
from forkrun.modules.returned import column_type, columns_of

COLUMNS = {
    "n": np.array([0, 1, 2], np.int32),
    "t": np.array([True, True, True]),
    "f": np.array([False, False, False]),
    "x": np.array([1.0, 2.0, 3.0]),
    "small": np.array([0, 0, 1], np.uint8),
    "u": np.array([1, 2, 3], np.uint32),
    "id": np.array([2**63 + 1, 5, 6], np.uint64),
    "pt": ak.Array([[], [10.0], [50.0, 20.0]]),
    "ids": ak.Array([[], [7], [8, 9]]),
    "index": ak.Array([[0], [0, -1], [1, 5]]),
    "nested": ak.Array([[], [[1], []], [[2, 3]]]),
    "fixed": np.arange(9.0).reshape(3, 3),
    "nan": ak.Array([[np.nan], [np.nan, 4.0], []]),
}
SOME = "pt[0] > 30"
"""None, false, true"""


class Block(SimpleNamespace):
    """What an expression asks of an event block."""

    column_types = dict.fromkeys(COLUMNS, "")

    def __getitem__(self, name: str) -> Any:
        return COLUMNS[name]

    def __len__(self) -> int:
        return 3


def value_of(text: str) -> Any:
    return ak.to_list(Expression(text)(Block()))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (SOME, [None, False, True]),
        (f"{SOME} || t", [True, True, True]), (f"{SOME} || f", [None, False, True]),
        (f"t or {SOME}", [True, True, True]), (f"f or {SOME}", [None, False, True]),
        (f"{SOME} && t", [None, False, True]), (f"{SOME} && f", [False, False, False]),
        (f"t and {SOME}", [None, False, True]), (f"f and {SOME}", [False, False, False]),
        (f"({SOME}) | t", [True, True, True]), (f"({SOME}) & f", [False, False, False]),
        (f"!({SOME})", [True, True, False]), (f"not {SOME}", [True, True, False]),
        (f"~({SOME})", [True, True, False]), (f"!!({SOME})", [False, False, True]),
        (f"where(!({SOME}), 1, 2)", [1, 1, 2]), (f"!({SOME} || f)", [True, True, False]),
        ("!(pt > pt[1])", [[], [True], [False, True]]), ("!pt[0]", [True, False, False]),
        (f"{SOME} || {SOME}", [None, False, True]), ("pt[0] || t", [True, True, True]),
        (f"f || {SOME} || t", [True, True, True]), ("0 < pt[1] < 30", [None, None, True]),
        ("0 < pt[0] < x", [None, False, False]),
        ("where(pt[0] > 30, 1, 2)", [None, 2, 1]), (f"where(t || {SOME}, x, -x)", [1, 2, 3]),
        ("1 if pt[0] > 30 else 2", [None, 2, 1]), ("where(t, 1, pt[0])", [1, 1, 1]),
        ("where(pt[0] > 30, pt, 0 * pt)", [None, [0], [50, 20]]),
        ("where(n > 1, pt, 0)", [[], [0], [50, 20]]),
        ("where(pt > 20, pt[0], -x)", [[], [-2], [50, -3]]),
        ("where(pt > pt[1], 1, 0)", [[], [None], [1, 0]]),
    ],
)  # fmt: skip
def test_logic_has_three_values(text: str, values: list[Any]) -> None:
    assert value_of(text) == values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("pt > pt[1]", [[], [None], [True, False]]),
        ("pt > pt[1] || t", [[], [True], [True, True]]),
        ("pt * pt[1]", [[], [None], [1000, 400]]), ("max(pt, pt[1])", [[], [None], [50, 20]]),
        ("any(pt > pt[1])", [False, None, True]), ("all(pt > pt[1])", [True, None, False]),
        ("any(ids[index] == 9)", [None, None, True]), ("all(ids[index] == 7)", [None, None, False]),
        ("any(ids[index] == 7)", [None, True, None]), ("all(ids[index] > 8)", [None, False, None]),
        ("sum(ids[index])", [0, 7, 9]), ("max(ids[index])", [None, 7, 9]),
        ("mean(ids[index])", [None, 7, 9]), ("num(ids[index])", [1, 2, 2]),
        ("any(nested[0] > 2)", [None, False, True]), ("mean(pt)", [None, 10, 35]),
        ("min(nan)", [None, None, None]), ("fill_none(mean(pt), -1)", [-1, 10, 35]),
        ("pt / max(pt, keepdims=True)", [[], [1], [1, 0.4]]),
        ("pt - sum(fixed[:1], keepdims=True)", [[], [7], [44, 14]]),
        ("isnan(nan[0])", [True, True, None]), ("isfinite(pt[0])", [None, True, True]),
    ],
)  # fmt: skip
def test_lists_with_missing_values(text: str, values: list[Any]) -> None:
    if text == "min(nan)":
        assert [str(value) for value in value_of(text)] == ["nan", "4.0", "None"]
        return
    assert value_of(text) == values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("pt[pt[0] > 5]", [[], [10], [50, 20]]), ("pt[pt[0] > 30]", [[], [], [50, 20]]),
        ("x[pt[0] > 5]", [None, 2, 3]), ("pt[max(pt) > 30]", [[], [], [50, 20]]),
        ("pt[fill_none(pt[0] > 5, 0)]", [[], [10], [50, 20]]), ("pt[pt > pt[1]]", [[], [], [50]]),
        ("sum(pt[pt > pt[1]])", [0, 0, 50]), ("pt[0 if n > 1 else 1]", [None, None, 50]),
        ("pt[small]", [None, 10, 20]), ("pt[true]", [[], [10], [50, 20]]),
        ("x[false]", [None, None, None]), ("x if 2 > 1 else pt[0]", [1, 2, 3]),
        ("where(1 > 2, pt, 7)", [[], [7], [7, 7]]), ("where(t, fixed, 0)[0]", [0, 3, 6]),
        ("pt[where(n > 1, pt > 0, pt > 90)]", [[], [], [50, 20]]),
        ("pt[where(pt[0] > 30, pt > 0, pt > 90)]", [[], [], [50, 20]]),
        ("nested[0][nested[0] > 2]", [None, [], [3]]), ("pt[argmax(pt)]", [None, 10, 50]),
        ("pt[argmin(pt)]", [None, 10, 20]), ("fixed[fixed > 3]", [[], [4, 5], [6, 7, 8]]),
        ("is_none(ids[index])", [[True], [False, True], [False, True]]),
        ("is_none(pt[0])", [True, False, False]), ("is_none(nested[0])", [True, False, False]),
        ("is_none(x)", [False, False, False]), ("fill_none(pt[0], x)", [1, 10, 50]),
    ],
)  # fmt: skip
def test_a_mask_is_no_index_and_none_is_not_chosen(text: str, values: list[Any]) -> None:
    assert value_of(text) == values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("fixed * x", [[0, 1, 2], [6, 8, 10], [18, 21, 24]]),
        ("fixed > x", [[False, False, True], [True] * 3, [True] * 3]),
        ("x - fixed", [[1, 0, -1], [-1, -2, -3], [-3, -4, -5]]),
        ("fixed + pt[0]", [[None] * 3, [13, 14, 15], [56, 57, 58]]),
        ("fixed + num(pt)", [[0, 1, 2], [4, 5, 6], [8, 9, 10]]),
        ("fixed > 3 && t", [[False] * 3, [False, True, True], [True] * 3]),
        ("maximum(fixed, x)", [[1, 1, 2], [3, 4, 5], [6, 7, 8]]),
        ("where(fixed > 2, x, 0)", [[0, 0, 0], [2, 2, 2], [3, 3, 3]]),
        ("where(t, fixed, x)", [[0, 1, 2], [3, 4, 5], [6, 7, 8]]),
        ("hypot(fixed, 0 * x)", [[0, 1, 2], [3, 4, 5], [6, 7, 8]]),
    ],
)
def test_a_value_of_an_event_meets_the_array_of_the_same_event(
    text: str, values: list[Any]
) -> None:
    """Also with as many events as values, where NumPy would compare those of other events."""
    assert value_of(text) == values


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("u - 2", "'u - 2' has a difference of unsigned integers that is below 0"),
        ("-u", "'-u' has a difference of unsigned"),
        ("u > -1", "'u > -1' compares an unsigned integer with a negative one"),
        ("n - 1 < u", "'n - 1 < u' compares an unsigned integer with a negative one"),
        ("u - 1", ""), ("n < u", ""), ("n - 2", ""), ("u > 1", ""), ("1.0 * u - 2", ""),
    ],
)  # fmt: skip
def test_unsigned_integers_that_wrap_are_told(text: str, told: str) -> None:
    take_notes()
    value_of(text)
    assert [text[: len(told)] for text in take_notes()] == [told] * bool(told)


def test_a_number_that_is_no_integer_is_no_index() -> None:
    with pytest.raises(TypeError, match="an index is an integer, or a mask"):
        value_of("pt[x]")


@pytest.mark.parametrize("text", ["n // (n - n)", "ids // 0", "7 % (n - n)"])
def test_an_integer_over_zero_is_an_error_however_it_is_divided(text: str) -> None:
    with pytest.raises(ZeroDivisionError, match="an integer is divided by 0"):
        value_of(text)


def write_jets(file: Path) -> Path:
    """100 events: 50 without jets, 25 with one of 10 GeV, 25 with two of 50 and 20 GeV."""
    counts = np.tile([0, 1, 2, 0], 25)
    columns: dict[str, Any] = {
        "run": np.ones(100, np.uint32), "luminosityBlock": np.ones(100, np.uint32),
        "event": np.arange(100, dtype=np.uint64), "nJet": counts.astype(np.int32),
        "Jet_pt": (np.append(0, np.cumsum(counts)), np.tile([10, 50, 20], 25).astype(np.float32)),
    }  # fmt: skip
    types = [
        (name, "float32[]" if isinstance(column, tuple) else str(column.dtype))
        for name, column in columns.items()
    ]
    writer = _core.TreeWriter(str(file), "Events", types, "none")
    writer.write(columns)
    writer.close()
    return file


def test_a_job_keeps_events_of_which_one_side_is_missing(tmp_path: Path) -> None:
    wanted = {
        "nJet == 0 || Jet_pt[0] < 30": 75, "is_none(Jet_pt[0]) || Jet_pt[0] < 30": 75,
        "nJet >= 0 || max(Jet_pt) > 30": 100, "!(Jet_pt[0] > 30)": 75,
        "nJet > 1 && Jet_pt[0] > Jet_pt[1] || nJet < 2": 100,
        "!(nJet > 0 && Jet_pt[0] > 30)": 75,
    }  # fmt: skip
    job = forkrun.Job(write_jets(tmp_path / "jets.root"))
    for number, text in enumerate(wanted):
        job.path(f"p{number}").filter(text)
    job.hist("nJet", (1, 0, 9), name="w", weight="where(nJet == 0 || Jet_pt[0] < 30, 1, 2)")
    job.hist("nJet", (1, 0, 9), name="missing", weight="Jet_pt[0]")
    job.hist("Jet_pt[nJet == 1 || Jet_pt[1] < 30]", (1, 0, 99), name="mask")
    job.hist("where(nJet == 0 || Jet_pt[0] < 30, 1, 2)", (2, 1, 3), name="value")
    job.hist("mean(Jet_pt)", (1, 0, 99), name="mean")
    result = job.run(children=0, output=tmp_path / "run", quiet=True, plots=False)
    assert [cuts[-1]["n_events"] for cuts in result.cutflow.values()] == list(wanted.values())
    found = {name: h.values(flow=True).tolist() for name, h in result.histograms.items()}
    assert found == {
        "w": [0, 125, 0], "missing": [0, 25 * 10 + 25 * 50, 0], "mask": [0, 75, 0],
        "value": [0, 75, 25, 0], "mean": [0, 50, 0],
    }  # fmt: skip


class Leading(forkrun.Filter):
    def filter(self, block: Any) -> Any:
        return ak.firsts(block["Jet_pt"]) > 30


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("children", [0, 2])
def test_the_cutflow_counts_what_came_to_a_filter_and_has_no_value(
    tmp_path: Path, children: int
) -> None:
    threads, forking = {"per_child": 2, "concurrent_blocks": 3}, {"max_unit_events": 7}
    job = forkrun.Job(write_jets(tmp_path / "jets.root"), threads=threads, forking=forking)
    job.filter("nJet > 0", label="some").filter("Jet_pt[1] > 30", label="second")
    job.path("alone").filter("Jet_pt[1] > 30", label="alone").filter("nJet < 0", label="none")
    job.path("class").filter(Leading, label="leading")
    job.path("shared").filter("nJet == 1", label="one")
    job.path("shared").hist("Jet_pt[1]", (1, 0, 99), name="h")
    result = job.run(children=children, output=tmp_path / "run", quiet=True, plots=False)
    found = {
        path: [(cut["after"], cut["n_events"], cut["n_missing"]) for cut in cuts]
        for path, cuts in result.cutflow.items()
    }
    assert found == {
        "main": [("", 100, 0), ("some", 50, 0), ("second", 0, 25)],
        "alone": [("", 100, 0), ("alone", 0, 75), ("none", 0, 0)],
        "class": [("", 100, 0), ("leading", 25, 50)],
        "shared": [("", 100, 0), ("one", 25, 0)],
    }
    assert str(result.cutflow["class"]).splitlines()[2].split()[-1] == "50"
    assert "refused as None" in str(result.cutflow["class"])
    assert "None" not in str(result.cutflow["shared"])


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("children", "kind"), [(0, "ttree"), (2, "rntuple")])
def test_a_column_says_where_it_has_no_value(tmp_path: Path, children: int, kind: str) -> None:
    """As the expression that it is made of does, whichever events share a block or a unit."""
    job = forkrun.Job(
        write_jets(tmp_path / "jets.root"),
        forking={"max_unit_events": 7},
        monitoring={"cutflow_weight": "leading"},
    )
    job.define("leading", "Jet_pt[0]")
    job.define("copied", "leading + 1")

    @job.define
    def told(events: Any) -> Any:
        return ak.fill_none(events["leading"], -1)

    job.hist("leading", (1, 0, 99), name="h")
    job.hist("nJet", (9, 0, 9), weight="0 * leading + 1", name="weighted")
    job.path("other").filter("leading != 5", label="is").filter("copied > 0", label="again")
    job.path("none").filter("is_none(copied)", label="none")
    job.path("negated").filter("!(leading > 0)", label="not")
    job.output("events", keep=["leading", "told"], format=kind)
    result = job.run(children=children, output=tmp_path / "run", quiet=True, plots=False)
    assert result.histograms["h"].values(flow=True).sum() == 50
    assert result.histograms["weighted"].values(flow=True).sum() == 50
    counted = {
        path: [(cut["n_events"], cut["n_missing"]) for cut in result.cutflow[path]]
        for path in ("other", "none", "negated")
    }
    assert counted == {
        "other": [(100, 0), (50, 50), (50, 0)],
        "none": [(100, 0), (50, 0)],
        "negated": [(100, 0), (50, 0)],
    }
    with uproot.open(result.outputs["events"]) as file:
        written = file["Events"].arrays(library="np")
    assert np.isnan(written["leading"]).sum() == 50
    assert (written["told"] == -1).sum() == 50


def test_nan_that_is_filled_is_counted_and_told(tmp_path: Path) -> None:
    job = forkrun.Job(write_jets(tmp_path / "jets.root"), forking={"max_unit_events": 7})

    @job.define
    def leading(events: Any) -> Any:
        return ak.fill_none(ak.firsts(events["Jet_pt"]), np.nan)

    job.hist("leading", (1, 0, 99), name="h")
    job.hist(lambda events: (events["leading"], events["nJet"]), (1, 0, 99), (3, 0, 3), name="two")
    job.hist("max(Jet_pt)", (1, 0, 99), name="missing")
    result = job.run(children=2, output=tmp_path / "run", quiet=True, plots=False)
    assert result.histograms["h"].values(flow=True).tolist() == [0, 50, 50]
    assert result.report["events"]["nan_fills"] == {"hist_h/h": 50, "hist_two/two": 50}
    text = (tmp_path / "run/report.txt").read_text()
    assert "histogram hist_h/h: 50 NaN were filled into the overflow; isnan(x) finds them" in text
    assert "histogram hist_missing/missing" not in text


@pytest.mark.parametrize(
    ("values", "kind", "written"),
    [
        ([1.5, None], "float64", [1.5, "nan"]),
        ([[1.5, None], []], "float64[]", [[1.5, "nan"], []]),
        ([[[None]], [[], [2.0]]], "float64[][]", [[["nan"]], [[], [2.0]]]),
        (ak.to_regular([[1.5, None], [2.5, 3.5]]), "float64[2]", [[1.5, "nan"], [2.5, 3.5]]),
        (np.ma.array([[1.5], [0]], mask=[[False], [True]]), "float64[1]", [[1.5], ["nan"]]),
    ],
)  # fmt: skip
def test_a_missing_floating_point_number_is_nan_in_a_column(
    values: Any, kind: str, written: list[Any]
) -> None:
    given = values if isinstance(values, np.ma.MaskedArray) else ak.Array(values)
    assert column_type("c", given) == kind
    take_notes()
    made = ak.to_list(as_array(columns_of({"c": given}, {"c": kind}, len(given))["c"]))
    assert str(made) == str(written).replace("'", "")
    assert [text[:38] for text in take_notes()] == ['column "c" has None for some events: N']


@pytest.mark.parametrize("values", [[1, None], [True, None], [[1, None], []], [[1.5], None]])
def test_other_missing_values_of_a_column_are_refused_with_its_name(values: Any) -> None:
    with pytest.raises(TypeError, match=r"^column 'c' has missing values .*fill_none"):
        column_type("c", ak.Array(values))
    kind = f"{'float64' if values[0] == [1.5] else 'int64'}{'[]' * isinstance(values[0], list)}"
    with pytest.raises(TypeError, match=r'^column "c": .*None for 1 of 2.*fill_none'):
        columns_of({"c": ak.Array(values)}, {"c": kind}, 2)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("where(n == 0, id, 0)", [2**63 + 1, 0, 0]),
        ("where(n > 0, 7, id)", [2**63 + 1, 7, 7]),
        ("where(n == 0, id, u)", [2**63 + 1, 2, 3]),
        (f"fill_none(where({SOME}, id, id), 0)", [0, 5, 6]),
        ("where(n == 0, id, 1.0 * n)", [2.0**63, 1.0, 2.0]),
        ("max(id, 7)", [2**63 + 1, 7, 7]),
        ("minimum(u, id)", [1, 2, 3]),
    ],
)
def test_numbers_of_64_bits_are_chosen_unrounded(text: str, values: list[float]) -> None:
    assert value_of(text) == values


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("where(n == 0, id, -1)", "-1"),
        ("where(n == 0, n, id)", "numbers of int32"),
        (f"fill_none(where({SOME}, id, id), -1)", "-1"),
        ("where(pt > 0, id, -1)", "-1"),
        ("max(id, -1)", "-1"),
        ("minimum(n, id)", "numbers of int32"),
    ],
)
def test_a_choice_that_would_round_them_is_refused(text: str, what: str) -> None:
    with pytest.raises(ValueError, match=f"{what} and numbers of uint64 would be rounded"):
        value_of(text)
