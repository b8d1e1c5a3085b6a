"""Expressions of columns, as RDataFrame's strings are, of Awkward Arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import vector

import forkrun
from forkrun import ConfigError, ModuleError, _core
from forkrun.modules.expressions import Expression
from forkrun.modules.objects.collections import NoSuchNameError
from tests.analysis.objects_file import N_MUONS, write_objects

COLUMNS = {
    "nMuon": np.array([2, 0, 3]),
    "MET_pt": np.array([10.0, 20.0, 30.0]),
    "flag": np.array([True, False, True]),
    "Jet_pt": ak.Array([[50.0, 20.0], [], [70.0]]),
    "Jet_type": ak.Array([[5, 6], [], [7]]),
    "hits": ak.Array([[[1, 2], [3]], [], [[]]]),
    "xyz": np.arange(9).reshape(3, 3),
    "index": ak.Array([[1, -1], [], [0, 5]]),
    "JetsAuxDyn.pt": ak.Array([[5.0], [], [7.0]]),
    "max": np.array([1.0, 2.0, 3.0]),
    "variation": np.array([4, 5, 6]),
    "random": np.array([7, 8, 9]),
    "lumi_pt": ak.Array([[1.0], [], [2.0]]),
}


class Block:
    """What an expression asks of an event block."""

    column_types = dict.fromkeys(COLUMNS, "")
    variation, random, lumi = "nominal", None, 1
    runs, lumis, events = np.array([1, 1, 2]), np.array([3, 4, 4]), np.array([5, 6, 7])

    def __getitem__(self, name: str) -> Any:
        return COLUMNS[name]

    def objects(self, name: str) -> Any:
        fields = {c.split("_")[1]: v for c, v in COLUMNS.items() if c.startswith(f"{name}_")}
        if not fields:
            raise NoSuchNameError(f"there is no {name}")
        return ak.zip(fields)

    def __len__(self) -> int:
        return 3


BLOCK = Block()


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
        ("(nMuon > 1) == flag", [True, True, True]),
        ("!flag == flag", [False, False, False]),
        ("prod(Jet_pt)", [1000, 1, 70]),
        ("-!-nMuon", [0, -1, 0]),
        ("!-!nMuon", [True, False, True]),
        ("-~-nMuon + ~nMuon", [-4, 0, -6]),
        ("!~nMuon || !!flag", [True, False, True]),
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
        ("max + max(Jet_pt)", [51, None, 73]),
        ("variation + random", [11, 13, 15]),
        ("lumi.pt[0]", [1, None, 2]),
        ("Jet.type + Jet_type[0]", [[10, 11], [], [14]]),
        ("run >= 2 && luminosityBlock == 4", [False, False, True]),
        ("event * 2", [10, 12, 14]),
        ("pi > 3 and true", [True, True, True]),
        ("argmax(Jet_pt, keepdims=True)", [[0], [None], [0]]),
        ("Jet_pt[argmax(Jet_pt, keepdims=True)]", [[50], [None], [70]]),
        ("nMuon / 2", [1, 0, 1]),
        ("1.0 * nMuon / 2", [1, 0, 1.5]),
    ],
)
def test_what_it_gives(text: str, values: list[Any]) -> None:
    assert ak.to_list(Expression(text)(BLOCK)) == values


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nMuon >=", "'nMuon >=' is not an expression"),
        ("__import__('os')", "'__import__' cannot be used"),
        ("nMuon.__class__", "'__class__' cannot be used"),
        ("[x for x in nMuon]", "ListComp cannot be used"),
        ("nMuon == 'two'", "'two' is neither a number nor a column"),
        ("lambda: 1", "Lambda cannot be used"),
        ("My::Abs(MET_pt)", "cannot be used"),
        ("MET_pt ^ 2", "write x ** 2"),
        ("nMuon > 1 & MET_pt > 15", "write && and ||"),
        ("(nMuon | MET_pt > 15) > 2", "write && and ||"),
        ("nMuon > 3 == flag", "put one of the comparisons in ( )"),
        ("nMuon != 1 != 0", "put one of the comparisons in ( )"),
        ("nMuon == 1 == flag", "put one of the comparisons in ( )"),
        ("1 < nMuon > 0", "put one of the comparisons in ( )"),
        ("!MET_pt > 15", "write !(a > b)"),
        ("nMuon in (1, 2)", "write a == 1 || a == 2"),
        ("nMuon is 1", "write a == 1 || a == 2"),
        ("MET_pt > 15 ? 1 : 0", "is written where(c, a, b)"),
        ("MET_pt.fill(7)", "fill is not a method of objects"),
        ("(300).to_bytes(2).decode()", "decode is not a method of objects"),
        ("(300).to_bytes(2)", "to_bytes is not a method of objects"),
        ("MET_pt.setflags(write=True)", "setflags is not a method"),
        ("sqrt(MET_pt, out=MET_pt)", "sqrt() has no keyword out"),
        ("where(flag, MET_pt, 0, highlevel=False)", "where() has no keyword highlevel"),
        ("sum(**Jet_pt)", "sum() has no keyword **"),
        ("eval(nMuon)", "eval is not a function of expressions"),
        ("(Jet_pt > 1)(MET_pt)", "is not a function of expressions"),
        ("maxx(Jet_pt)", 'did you mean "max"'),
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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sqrt(MET_pt, MET_pt)", "sqrt() takes 1 value, and got 2"),
        ("minimum(MET_pt, 1, MET_pt)", "minimum() takes 2 values"),
        ("where(flag)", "where() takes 3 arguments"),
        ("Jet.layout", "unknown field 'layout'"),
        ("MET_pt.base", "a column of numbers has no 'base'"),
        ("(MET_pt + 1).flags", "a column of numbers has no 'flags'"),
        ("Jet.deltaR(Jet)", "unknown method 'deltaR'"),
        ("max(Jet_pt) + wheres", 'there is no wheres; did you mean "where"'),
    ],
)
def test_no_argument_is_for_results_and_nothing_of_arrays_is_reached(text: str, words: str) -> None:
    before = COLUMNS["MET_pt"].tolist()
    with pytest.raises((TypeError, NoSuchNameError)) as error:
        Expression(text)(BLOCK)
    assert words in str(error.value)
    assert COLUMNS["MET_pt"].tolist() == before


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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("max(Muon)", "max() takes numbers, not objects: take one of their members, as max(x."),
        ("Muon_pt + Jet_pt", "two lists of an event have different lengths"),
        ("ak.sum(Muon_pt)", "an expression has functions of its own: write sum(…)"),
        ("(Muon[0] + Muon[0]).mas", "Muon has no field 'mas'; did you mean \"mass\"?"),
    ],
)
def test_errors_of_expressions_advise_expressions(tmp_path: Path, text: str, words: str) -> None:
    job = forkrun.Job(write_objects(tmp_path / "objects.root"))
    job.define("x", text).hist("x", (1, 0, 1))
    with pytest.raises((ConfigError, ModuleError)) as error:
        job.run(children=0, output=tmp_path / "run", quiet=True, plots=False)
    assert words in str(error.value)
    assert "consumes" not in str(error.value)


def test_objects_are_vectors_whoever_registers_them_anew(tmp_path: Path) -> None:
    """As a cell of a notebook may do between two runs."""
    job = forkrun.Job(write_objects(tmp_path / "objects.root"))
    job.define("x", "(Muon[0] + Muon[0]).mass / Muon[0].mass").hist("x", (4, 0, 4))
    found = []
    for name in ("before", "after"):
        result = job.run(children=0, output=tmp_path / name, quiet=True, plots=False)
        found.append(result.histograms["x"].values().tolist())
        vector.register_awkward()
    assert found[0] == found[1]
    assert sum(found[0])


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("key", "name", "words"),
    [
        ("keep", "Moun_*", 'no column or branch matches "Moun_*"; did you mean "Muon_*"?'),
        ("drop", "Moun_*", 'no column or branch matches "Moun_*"; did you mean "Muon_*"?'),
        ("drop", "Muon_ptt", 'neither the input nor a module has "Muon_ptt"; did you mean'),
    ],
)
def test_keep_and_drop_without_a_match_are_errors(
    tmp_path: Path, key: str, name: str, words: str
) -> None:
    job = forkrun.Job(write_objects(tmp_path / "objects.root"))
    given = ["Muon_pt", name] if key == "keep" else [name]
    job.output("kept", **{key: given})
    with pytest.raises(ConfigError) as error:
        job.check()
    assert f'outputs "kept": {key}: {words}' in str(error.value)


OWN_NAMES = ("variation", "lumi", "random", "max", "mask", "events", "dataset", "iov", "selected")


def test_a_column_is_the_column_whatever_its_name(tmp_path: Path) -> None:
    """In expressions, and in functions by `block[NAME]`; attributes are the block's own first."""
    n = 6
    columns: dict[str, Any] = {
        "run": np.array([1, 1, 2, 2, 3, 3], np.uint32),
        "luminosityBlock": np.ones(n, np.uint32),
        "event": np.arange(n, dtype=np.uint64),
        **{name: np.arange(n, dtype=np.float32) + k for k, name in enumerate(OWN_NAMES)},
    }
    types = [(name, str(column.dtype)) for name, column in columns.items()]
    writer = _core.TreeWriter(str(tmp_path / "own.root"), "Events", types, "none")
    writer.write(columns)
    writer.close()
    job = forkrun.Job(tmp_path / "own.root")
    for name in OWN_NAMES:
        job.hist(name, (20, 0, 20), name=f"h_{name}")
    job.hist("max + max(max, 2)", (40, 0, 40), name="both")

    @job.hist((20, 0, 20))
    def by_name(events: Any) -> Any:
        assert events.variation == "nominal"
        return events["variation"]

    job.path("late").filter("run >= 2 && event != 5 && luminosityBlock == 1")
    job.path("late").hist("run", (5, 0, 5), name="runs")
    found = job.run(children=0, output=tmp_path / "run", quiet=True, plots=False).histograms
    for k, name in enumerate(OWN_NAMES):
        assert np.flatnonzero(found[f"h_{name}"].values()).tolist() == list(range(k, n + k))
    assert np.flatnonzero(found["both"].values()).tolist() == [6, 8, 10, 12, 14, 16]
    assert np.flatnonzero(found["by_name"].values()).tolist() == list(range(n))
    assert found["runs"].values().tolist() == [0, 0, 2, 1, 0]


def test_run_lumi_and_event_are_there_without_columns_of_these_names(tmp_path: Path) -> None:
    names = {"run": "runNumber", "luminosityBlock": "block", "event": "number"}
    file = write_objects(tmp_path / "objects.root", names)
    branches = {"run_branch": "runNumber", "lumi_branch": "block", "event_branch": "number"}
    job = forkrun.Job(file, source=branches)
    job.filter("run == 1 && luminosityBlock == 1 && event > 4").hist("event", (9, 0, 9), name="e")
    found = job.run(children=0, output=tmp_path / "run", quiet=True, plots=False).histograms
    assert np.flatnonzero(found["e"].values()).tolist() == [5, 6]
