"""Each ready-made provider reads real files."""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest

from forkrun import _core
from forkrun.conditions import BinnedTable
from forkrun.conditions.read_only import ReadOnlyConditionError
from forkrun.errors import ConfigError
from tests.conditions.jobs import prefetch


def load(kind: str, file: Path | None, **keys: Any) -> Any:
    config = {"label": "sf", "type": kind, "file": str(file) if file else None, **keys}
    return prefetch([config]).outside["sf"]


def problems(kind: str, file: Path | None, **keys: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(kind, file, **keys)
    return [p.removeprefix('condition "sf": ') for p in caught.value.problems]


@pytest.fixture
def values() -> np.ndarray[Any, Any]:
    return np.array([[1.5, 2.5], [3.5, 4.5]])


def test_arrays_are_loaded_and_read_only(tmp_path: Path, values: np.ndarray[Any, Any]) -> None:
    np.savez(tmp_path / "sf.npz", muon=values, jet=values[0])
    np.save(tmp_path / "sf.npy", values)
    (tmp_path / "sf.pkl").write_bytes(pickle.dumps({"muon": [(values,)]}))
    loaded = load("npz", tmp_path / "sf.npz")
    mapped = load("npy", tmp_path / "sf.npy", params={"memory_map": True})
    arrays = [loaded["muon"], load("npy", tmp_path / "sf.npy"), mapped]
    arrays.append(load("pickle", tmp_path / "sf.pkl")["muon"][0][0])
    assert sorted(loaded) == ["jet", "muon"]
    for array in arrays:
        assert type(array) is np.ndarray
        assert np.array_equal(array, values)
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 7
    maps = Path("/proc/self/maps").read_text()
    assert str(tmp_path / "sf.npy") in maps


def test_tables_are_loaded_and_read_only(tmp_path: Path) -> None:
    (tmp_path / "sf.json").write_text(json.dumps({"muon": [1, 2]}))
    (tmp_path / "sf.toml").write_text("muon = [1, 2]")
    table = load("json", tmp_path / "sf.json")
    assert table == load("toml", tmp_path / "sf.toml") == {"muon": [1, 2]}
    assert json.dumps(table) == '{"muon": [1, 2]}'
    for change in (table.clear, table["muon"].clear, lambda: table["muon"].append(3)):
        with pytest.raises(ReadOnlyConditionError, match='"sf" is read-only'):
            change()
    copied = pickle.loads(pickle.dumps(table))
    copied["muon"].append(3)
    assert copied == {"muon": [1, 2, 3]}


MAKER = """
import numpy as np
import forkrun

def make(file=None, n: int = 2):
    return np.zeros(n), file

def none():
    raise KeyError("eta")

class OfRuns(forkrun.ConditionsProvider):
    def __init__(self, runs: list[int], lumis: int = 0) -> None:
        self.runs = runs
        self.lumis = lumis

    def iovs(self):
        return [forkrun.Iov((run, 1), (run, self.lumis or 1000)) for run in self.runs]

    def load(self, file, iov):
        return np.array([iov.since[0]])

class Stranger:
    pass
"""


@pytest.fixture
def maker(tmp_path: Path) -> str:
    file = tmp_path / "maker.py"
    file.write_text(MAKER)
    return f"python:{file}"


def test_a_function_makes_a_condition(maker: str, tmp_path: Path) -> None:
    array, file = load(f"{maker}:make", tmp_path / "x.txt", params={"n": 3})
    assert (file, array.shape) == (str(tmp_path / "x.txt"), (3,))
    assert not array.flags.writeable
    assert load(f"{maker}:make", None)[1] is None


def test_a_provider_may_know_its_own_intervals(maker: str) -> None:
    config = {"label": "sf", "type": f"{maker}:OfRuns", "params": {"runs": [5, 3, 9]}}
    conditions = prefetch([config], (3, 1), (9, 2), (3, 2))
    seen = [conditions.enter_unit(n) for n in range(3)]
    assert seen == [0, 1, 0]
    assert sorted(conditions.prefetched) == [("sf", 0), ("sf", 2)]
    assert conditions.snapshots[1]["sf"][0] == 9


@pytest.mark.parametrize(
    ("name", "params", "said"),
    [
        ("made", {}, 'has no function or class "made"; did you mean "make"?'),
        ("make", {"m": 1}, 'make has no parameter \'m\'; there are "file", "n"'),
        ("make", {"n": "many"}, "parameter 'n' of make: Input should be a valid integer"),
        ("none", {}, "raised KeyError: 'eta' ("),
        ("OfRuns", {}, "OfRuns needs the parameter 'runs'"),
        ("Stranger", {}, "Stranger is neither a function nor a forkrun.ConditionsProvider"),
        ("OfRuns", {"runs": [1, 1]}, "its intervals overlap: since 1:1 until 1:1000"),
        ("OfRuns", {"runs": [2]}, "run 1 (lumi 1), before its first interval (since 2:1"),
    ],
)
def test_what_is_wrong_with_ones_own_is_said(
    maker: str, name: str, params: dict[str, Any], said: str
) -> None:
    (problem,) = problems(f"{maker}:{name}", None, params=params)
    assert said in problem


@pytest.mark.parametrize(
    ("kind", "content", "said"),
    [
        ("json", b"{", "sf.x cannot be read as json: JSONDecodeError"),
        ("toml", b"[", "sf.x cannot be read as toml: TOMLDecodeError"),
        ("npy", b"no array", "sf.x cannot be read as npy: "),
        ("npz", b"", "sf.x cannot be read as npz: EOFError"),
        ("pickle", b"", "sf.x cannot be read as pickle: EOFError"),
        ("root", b"no file of ROOT", "is not a readable ROOT file"),
        ("json", None, "file not found: "),
    ],
)
def test_a_broken_file_is_named(
    tmp_path: Path, kind: str, content: bytes | None, said: str
) -> None:
    file = tmp_path / "sf.x"
    if content is not None:
        file.write_bytes(content)
    params = {"histogram": "h"} if kind == "root" else {}
    (problem,) = problems(kind, file, params=params)
    assert said in problem
    assert str(file) in problem


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({"dtype": "float32"}, "the array is float64, not float32 as declared"),
        ({"shape": [2, 3]}, "the array has the shape [2, 2], not [2, 3] as declared"),
        ({"shape": [-1, -1, 2]}, "the array has the shape [2, 2], not [any, any, 2] as declared"),
        ({"arrays": {"muon": {}}}, 'it is a single array, without the name "muon"; use dtype and'),
    ],
)
def test_an_array_must_be_as_declared(
    tmp_path: Path, values: np.ndarray[Any, Any], declared: dict[str, Any], said: str
) -> None:
    np.save(tmp_path / "sf.npy", values)
    assert load("npy", tmp_path / "sf.npy", dtype="float64", shape=[-1, 2]) is not None
    (problem,) = problems("npy", tmp_path / "sf.npy", **declared)
    assert problem.startswith(said)


def test_arrays_of_a_condition_are_declared_by_name(
    tmp_path: Path, values: np.ndarray[Any, Any]
) -> None:
    np.savez(tmp_path / "sf.npz", muon=values, jet=values[0])
    wrong = {"muon": {"shape": [4]}, "jet": {"dtype": "int8"}, "tau": {}}
    assert problems("npz", tmp_path / "sf.npz", arrays=wrong) == [
        'array "muon" has the shape [2, 2], not [4] as declared',
        'array "jet" is float64, not int8 as declared',
        'it has no array "tau"; there are "muon", "jet"',
    ]
    assert problems("npz", tmp_path / "sf.npz", dtype="int8") == [
        "dtype and shape are of a single array, which it is not; use arrays.NAME instead"
    ]


# --- ROOT histograms ------------------------------------------------------------------------------
@pytest.fixture
def histogram(tmp_path: Path) -> Path:
    """muon/id : TH2D of 2 × 3 bins, bin (x, y) is 10 x + y, flow bins included."""
    content = np.add.outer(10.0 * np.arange(4), np.arange(5.0))
    edges = [np.array([0.0, 1.0, 2.0]), np.array([-1.0, 0.0, 1.0, 5.0])]
    file = tmp_path / "sf.root"
    axes: list[Any] = [("pt", edges[0], False, []), ("eta", edges[1], False, [])]
    sums = np.stack([content.T, 4 * content.T])
    _core.write_histograms(str(file), [("muon/id", "t", axes, "weights", sums, False)])
    return file


def test_a_histogram_is_a_table(histogram: Path) -> None:
    table = load("root", histogram, params={"histogram": "muon/id"})
    assert table.values.tolist() == [[11, 12, 13], [21, 22, 23]]
    assert [list(edges) for edges in table.edges] == [[0, 1, 2], [-1, 0, 1, 5]]
    assert table.axis_titles == ("pt", "eta")
    assert table(0.5, 0.0) == 12
    assert table.error(0.5, 0.0) == pytest.approx(2 * 12**0.5)
    pt = np.array([0.5, 1.0, -9.0, np.nan], dtype=np.float32)
    assert table(pt, np.array([-1.0, 7.0, -7.0, 0.0])).tolist() == [11, 23, 11, 22]
    with pytest.raises(ValueError, match="read-only"):
        table.content[0, 0] = 1
    with pytest.raises(TypeError, match=r"the table has 2 coordinates \(pt, eta\)"):
        table(1.0)


def test_awkward_arrays_are_looked_up_at_any_depth(histogram: Path) -> None:
    table = load("root", histogram, params={"histogram": "muon/id"})
    pt = ak.Array([[0.5, 1.5], [], [0.5]])
    per_event = np.array([-0.5, 0.5, 3.0])
    assert table(pt, per_event).to_list() == [[11.0, 21.0], [], [13.0]]
    deep = ak.Array([[[0.5], [1.5, 1.5]], []])
    assert table(deep, 0.0).to_list() == [[[12.0], [22.0, 22.0]], []]
    assert table.error(pt, 0.0).to_list()[0][0] == pytest.approx(2 * 12**0.5)


def test_beyond_the_edges_holds_what_the_params_say(histogram: Path) -> None:
    flow = load("root", histogram, params={"histogram": "muon/id", "outside": "flow"})
    assert flow(np.array([-1.0, 2.0]), np.array([7.0, -2.0])).tolist() == [4, 30]
    strict = load("root", histogram, params={"histogram": "muon/id", "outside": "error"})
    assert strict(1.0, 4.9) == 23
    with pytest.raises(ValueError, match=r"2.0 is outside of axis 0 of the table, \[0.0, 2.0\)"):
        strict(2.0, 0.0)


def test_one_and_three_axes_are_read_as_uproot_reads_them(tmp_path: Path) -> None:
    import uproot

    rng = np.random.default_rng(5)
    for n_axes in (1, 3):
        edges = [np.sort(rng.normal(size=3 + axis)) for axis in range(n_axes)]
        content = rng.normal(size=[len(e) + 1 for e in edges])
        file = tmp_path / f"{n_axes}.root"
        axes: list[Any] = [("", e, False, []) for e in edges]
        sums = np.stack([content.T, content.T**2])
        _core.write_histograms(str(file), [("h", "", axes, "weights", sums, False)])
        table = load("root", file, params={"histogram": "h"})
        with uproot.open(file) as opened:
            assert np.array_equal(table.content, opened["h"].values(flow=True))
            assert np.allclose(table.variances, opened["h"].variances(flow=True))
        middles = [(e[:-1] + e[1:]) / 2 for e in edges]
        assert np.array_equal(table(*np.meshgrid(*middles, indexing="ij")), table.values)


def test_a_histogram_that_is_not_there_is_suggested(histogram: Path) -> None:
    (problem,) = problems("root", histogram, params={"histogram": "muon/iso"})
    assert 'unknown histogram "muon/iso"; did you mean "muon/id"?' in problem
    (problem,) = problems("root", histogram, params={"histogram": "electron_reco"})
    assert "its histograms are muon/id" in problem
    assert problems("root", histogram) == ["RootHistogramProvider needs the parameter 'histogram'"]
    (problem,) = problems("root", histogram, params={"histogram": "muon/id", "outside": "fix"})
    assert "parameter 'outside' of RootHistogramProvider: Input should be 'nearest'" in problem


def test_a_table_can_be_made_of_arrays() -> None:
    content = np.arange(4.0)
    table = BinnedTable([np.array([0.0, 1.0, 2.0])], content, content, "flow")
    assert table(np.array([-1.0, 0.0, 1.5, 2.0])).tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match=r"have the shape \(4,\), with flow bins"):
        BinnedTable([np.array([0.0, 1.0, 2.0])], content[1:3], content)


# --- with packages of their own -------------------------------------------------------------------
def test_parquet_and_arrow_files_are_columns(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.feather
    import pyarrow.parquet

    columns = {"eta": [0.5, None], "n": [1, 2], "name": ["a", "b"], "ids": [[1], [2, 3]]}
    table = pa.table(columns)
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "t.arrow", compression="uncompressed")
    for kind in ("parquet", "arrow"):
        read = load(kind, tmp_path / f"t.{kind}")
        assert list(read) == ["eta", "n", "name", "ids"]
        assert np.array_equal(read["eta"], [0.5, np.nan], equal_nan=True)
        assert (read["n"].dtype, read["n"].tolist()) == (np.dtype("int64"), [1, 2])
        assert not read["n"].flags.writeable
        assert read["name"].tolist() == ["a", "b"]
        assert ak.to_list(read["ids"]) == [[1], [2, 3]]
        few = load(kind, tmp_path / f"t.{kind}", params={"columns": ["n"]})
        assert list(few) == ["n"]
        (problem,) = problems(kind, tmp_path / f"t.{kind}", params={"columns": ["m"]})
        assert 'it has no column "m"' in problem


def test_a_model_of_several_inputs_and_outputs_goes_by_their_names(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    helper, number = onnx.helper, onnx.TensorProto.FLOAT
    x, y, total, product = (
        helper.make_tensor_value_info(name, number, ["n"]) for name in ("x", "y", "sum", "product")
    )
    nodes = [
        helper.make_node("Add", ["x", "y"], ["sum"]),
        helper.make_node("Mul", ["x", "y"], ["product"]),
    ]
    graph = helper.make_graph(nodes, "g", [x, y], [total, product])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 10
    onnx.save(model, tmp_path / "m.onnx")
    loaded = load("onnx", tmp_path / "m.onnx")
    values = np.array([2.0, 3.0], dtype=np.float32)
    results = loaded(values, y=values)
    assert {name: list(result) for name, result in results.items()} == {
        "sum": [4, 6],
        "product": [4, 9],
    }
    assert loaded.inputs["y"] == ("tensor(float)", ["n"])
    for wrong in ((values,), (values, values, values)):
        with pytest.raises(TypeError, match="the model has the inputs x, y"):
            loaded(*wrong)


def test_missing_integers_are_an_error(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    pyarrow.parquet.write_table(pa.table({"n": [1, None]}), tmp_path / "t.parquet")
    (problem,) = problems("parquet", tmp_path / "t.parquet")
    assert 'column "n" has 1 row without a value' in problem


@pytest.mark.parametrize(
    ("kind", "package"),
    [("parquet", "pyarrow"), ("onnx", "onnxruntime"), ("correctionlib", "correctionlib")],
)
def test_a_package_that_is_not_installed_is_said_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    assert problems(kind, tmp_path / "x") == [
        f'type "{kind}" needs the package {package}, which is not installed;'
        " pip install 'forkrun[conditions]'"
    ]
