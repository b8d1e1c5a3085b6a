"""Nested columns go through modules and outputs to the last bit, whatever the layout of the job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import forkrun as package
from forkrun import _core
from forkrun.modules.columns import as_array
from forkrun.modules.returned import column_type, columns_of
from tests.modules.shape_modules import COPIES
from tests.support.jobs import ROOT, forkrun, output_digests, sha256, write_job
from tests.support.shapes_file import SHAPES, differing, write_shapes_file

MODULES = f"python:{ROOT}/tests/modules/shape_modules.py:"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("shapes")
    return [
        write_shapes_file(folder / "a.root", 0, 200),
        write_shapes_file(folder / "b.root", 200, 100),
    ]


def job(folder: Path, files: list[Path], copy: str = "Copy", **sections: Any) -> Path:
    config = {
        "job": {"name": "shapes"},
        "source": {"files": [str(file) for file in files]},
        "modules": [
            {"label": "copy", "type": f"{MODULES}{copy}"},
            {"label": "even", "type": f"{MODULES}Even"},
        ],
        "paths": {"even": ["even"]},
        "outputs": [
            {"label": "some", "paths": ["even"], "parquet": True},
            {"label": "all"},
            {"label": "new", "mode": "friend"},
        ],
        **sections,
    }
    return write_job(folder, config)


def run(folder: Path, config: Path, *options: object) -> Path:
    ended = forkrun("run", config, "-o", folder / "run", *options, cwd=folder)
    assert ended.code == 0, ended.err
    return folder / "run"


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("copy", ["Copy", "CopyFound"])
def test_new_columns_of_every_shape_are_what_they_were_made_of(
    tmp_path: Path, files: list[Path], copy: str
) -> None:
    done = run(tmp_path, job(tmp_path, files, copy), "--children", 2)
    for label, n_events in (("some", 149), ("all", 300)):
        with uproot.open(done / f"output/{label}.root") as file:
            events = file["Events"].arrays()
        assert len(events) == n_events
        for new, old in COPIES.items():
            assert str(events[new].type) == str(events[old].type), new
            assert ak.array_equal(events[new], events[old]), new
        in_root = differing(done / f"output/{label}.root", COPIES)
        assert in_root == {new: 0 for new, old in COPIES.items() if old not in ("ints", "bools")}
    with uproot.open(done / "output/new.root") as file:
        assert set(file["Events"].keys()) == {"run", "luminosityBlock", "event", "nQ", *COPIES}


def test_kept_branches_are_those_of_the_input(tmp_path: Path, files: list[Path]) -> None:
    done = run(tmp_path, job(tmp_path, files), "--children", 2)
    inputs = ak.concatenate([uproot.open(file)["Events"].arrays() for file in files])
    with uproot.open(done / "output/some.root") as file:
        kept = file["Events"].arrays(list(SHAPES))
    chosen = inputs[(inputs.event % 2 == 0) & (inputs.x[:, 0] != 10)]
    for name in SHAPES:
        assert ak.array_equal(kept[name], chosen[name]), name


@pytest.mark.long
def test_bytes_are_the_same_for_any_layout(tmp_path: Path, files: list[Path]) -> None:
    layouts = [(1, {}), (3, {"block_size": 7}), (2, {"block_size": 64, "per_child": 2})]
    found = []
    for number, (children, threads) in enumerate(layouts):
        folder = tmp_path / str(number)
        folder.mkdir()
        done = run(folder, job(folder, files, threads=threads), "--children", children)
        found.append((output_digests(done), sha256(done / "output/some.parquet")))
    assert found[1:] == found[:-1]


def test_parquet_has_texts_and_lists_of_lists(tmp_path: Path, files: list[Path]) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    done = run(tmp_path, job(tmp_path, files))
    rows = pq.read_table(done / "output/some.parquet")
    kinds = {name: str(rows.schema.field(name).type) for name in ("x", "text", "floats", "texts")}
    assert kinds == {
        "x": "fixed_size_list<element: float>[4]",
        "text": "string",
        "floats": "list<element: list<element: float>>",
        "texts": "list<element: string>",
    }
    with uproot.open(done / "output/some.root") as file:
        events = file["Events"].arrays()
    for name in (*SHAPES, *COPIES):
        assert rows[name].to_pylist() == events[name].tolist(), name


@pytest.mark.slow
def test_functions_of_a_job_in_python_read_and_make_them(tmp_path: Path, files: list[Path]) -> None:
    job = package.Job([str(file) for file in files], name="shapes")
    job.define("x_sum", "sum(x)").define("n_texts", "num(texts)")
    job.define("rows", "floats").define("corner", "matrix[:, 0]")
    job.filter("nP > 0")
    job.output("new", mode="friend")
    result = job.run(children=2, output=tmp_path / "run", quiet=True)
    with uproot.open(result.outputs["new"]) as file:
        found = file["Events"].arrays()
    inputs = ak.concatenate([uproot.open(file)["Events"].arrays() for file in files])
    inputs = inputs[inputs.nP > 0]
    assert found.x_sum.tolist() == ak.sum(inputs.x, axis=1).tolist()
    assert found.n_texts.tolist() == ak.num(inputs.texts).tolist()
    assert ak.array_equal(found.rows, inputs.floats)
    assert ak.array_equal(found.corner, inputs.matrix[:, 0])


TYPES = [
    (np.zeros((3, 4), np.float32), "float32[4]"),
    (np.zeros((3, 2, 5)), "float64[2][5]"),
    (["a", "bc", ""], "string"),
    ([["a"], [], ["b", "c"]], "string[]"),
    ([[[1]], [], [[2, 3], []]], "int64[][]"),
    (ak.Array([[1.5], []]), "float64[]"),
    (ak.from_numpy(np.zeros((2, 3), np.int16), regulararray=True), "int16[3]"),
    (ak.unflatten(np.zeros((3, 2), np.float32), [1, 2]), "float32[][2]"),
    (np.array(["ab", "c"]), "string"),
    (ak.Array([[], []]), "float64[]"),
]


@pytest.mark.parametrize(("values", "kind"), TYPES, ids=[kind for _, kind in TYPES])
def test_the_type_of_what_a_module_gives_is_found_out_and_taken(values: Any, kind: str) -> None:
    assert column_type("c", values) == kind
    taken = columns_of({"c": values}, {"c": kind}, len(values))["c"]
    assert ak.to_list(as_array(taken)) == ak.to_list(values)


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        ([[1], [2, 3]], "float32[2]", "wanted float32\\[2\\] for each event"),
        (np.zeros((2, 3), np.float32), "float32[4]", "wanted float32\\[4\\] for each event"),
        ([1.0, 2.0], "string", "wanted string for each event"),
        (["a", None], "string", "None for 1 of 2"),
        ([[[1]], None], "int64[][]", "None for 1 of 2"),
        ([["a"], ["b"]], "string", "wanted string for each event"),
        ([[1], [2]], "int64[][]", "wanted int64\\[\\]\\[\\] for each event"),
        ([[[1.5]], []], "int64[][]", "wanted int64, got float64"),
        (["a"], "string", "one entry for each of 2 events, got 1"),
    ],
)
def test_what_is_of_another_shape_is_refused(values: Any, kind: str, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        columns_of({"c": values}, {"c": kind}, 2)


def test_lists_may_be_six_deep() -> None:
    assert column_type("c", [[[[1]]]]) == "int64[][][]"
    with pytest.raises(TypeError, match="is not a column type"):
        column_type("c", [[[[[[[[1]]]]]]]])


def write_objects(path: Path) -> Path:
    """60 events with two objects T each, which have texts, lists and arrays, and one object V."""
    n, m = 60, 120
    two = np.arange(0, m + 1, 2)
    columns: dict[str, tuple[str, Any]] = {
        "run": ("uint32", np.ones(n, np.uint32)),
        "luminosityBlock": ("uint32", np.ones(n, np.uint32)),
        "event": ("uint64", np.arange(n, dtype=np.uint64)),
        "T_pt": ("float32[]", (two, np.arange(m, dtype=np.float32))),
        "T_name": ("string[]", (two, 2 * np.arange(m + 1), np.frombuffer(b"ab" * m, "S1"))),
        "T_hits": ("int32[][]", (two, 3 * np.arange(m + 1), np.arange(3 * m, dtype=np.int32))),
        "T_pos": ("float32[][3]", (two, np.arange(3.0 * m, dtype=np.float32).reshape(m, 3))),
        "V_pos": ("float32[3]", np.arange(3.0 * n, dtype=np.float32).reshape(n, 3)),
        "V_label": ("string", (2 * np.arange(n + 1), np.frombuffer(b"xy" * n, "S1"))),
    }
    kinds = [(name, kind) for name, (kind, _) in columns.items()]
    writer = _core.TreeWriter(str(path), "Events", kinds, "zstd:1")
    writer.write({name: values for name, (_, values) in columns.items()})
    writer.close()
    return path


@pytest.mark.slow
def test_objects_have_fields_of_every_shape(tmp_path: Path) -> None:
    config = {
        "source": {"files": [str(write_objects(tmp_path / "o.root"))]},
        "modules": [{"label": "objects", "type": f"{MODULES}OfObjects"}],
        "outputs": [{"label": "new", "mode": "friend"}],
        "threads": {"block_size": 7},
    }
    done = run(tmp_path, write_job(tmp_path, config), "--children", 2)
    with uproot.open(done / "output/new.root") as file:
        events = file["Events"].arrays()
    assert events[7].tolist() == {
        "run": 1, "luminosityBlock": 1, "event": 7, "nGood": 2, "Good_name": ["ab", "ab"],
        "Good_pos": [[42.0, 43.0, 44.0], [45.0, 46.0, 47.0]], "first_hits": 42 + 45,
        "z": 23.0, "label": "xy",
    }  # fmt: skip
    assert ak.num(events.Good_name).tolist() == [0] * 5 + [1] + [2] * 54
