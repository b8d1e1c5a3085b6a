"""Columns of every shape: read as uproot reads them, and written so that it reads them back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

from forkrun import _core
from forkrun.errors import InputError, JobError
from forkrun.formats.column_types import ColumnType
from forkrun.modules.columns import as_array
from tests.support.shapes_file import SHAPES, write_shapes_file

IDS = ("run", "luminosityBlock", "event")
N = 200


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_shapes_file(tmp_path_factory.mktemp("shapes") / "shapes.root", n_events=N)


def assert_same(ours: Any, theirs: Any, name: str) -> None:
    ours, theirs = ak.Array(ours), ak.Array(theirs)
    assert str(ak.type(ours)) == str(ak.type(theirs)), name
    assert ak.array_equal(ours, theirs), name


def test_the_index_names_the_shapes(shapes: Path) -> None:
    kinds = {
        name: kind for name, kind, _ in _core.index_tree(str(shapes), "Events", *IDS)["branches"]
    }
    assert {name: kinds[name] for name in SHAPES} == SHAPES


@pytest.mark.parametrize(("first", "last"), [(0, N), (17, 18), (40, 131), (199, 200), (5, 5)])
def test_any_range_of_entries_reads_as_with_uproot(shapes: Path, first: int, last: int) -> None:
    columns = _core.read_columns(str(shapes), "Events", list(SHAPES), first, last)
    with uproot.open(shapes) as file:
        for name in SHAPES:
            theirs = file["Events"][name].array(entry_start=first, entry_stop=last)
            if last > first:  # of no events uproot knows no types
                assert_same(as_array(columns[name]), theirs, name)
            else:
                assert len(as_array(columns[name])) == 0


def test_empty_texts_of_characters_are_read(shapes: Path) -> None:
    found = as_array(_core.read_columns(str(shapes), "Events", ["blanks"], 3, N)["blanks"])
    assert found.tolist() == ["" if event % 6 == 0 else "blank" for event in range(3, N)]


def test_arrays_of_fixed_size_are_arrays_of_numpy(shapes: Path) -> None:
    columns: Any = _core.read_columns(str(shapes), "Events", ["x", "matrix", "P_xyz"])
    assert (columns["x"].shape, columns["matrix"].shape) == ((N, 4), (N, 2, 3))
    offsets, values = columns["P_xyz"]
    assert values.shape == (offsets[-1], 3)


ELEMENTS = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
            "float32", "float64"]  # fmt: skip
WRITTEN = [
    *(f"{element}{shape}" for element in ELEMENTS for shape in ("[3]", "[2][2]", "[][]", "[][3]")),
    "string",
    "string[]",
]


def random_column(kind: str, n_events: int, random: np.random.Generator) -> Any:
    of = ColumnType.of(kind)
    offsets, n = [], n_events
    for level in range(of.n_levels):
        most = 300 if of.is_text and level + 1 == of.n_levels else 4
        counts = random.integers(0, most, n) if level or of.is_text else np.arange(n) % 4
        offsets.append(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))
        n = int(offsets[-1][-1])
    if of.is_text:
        return *offsets, random.integers(97, 123, n).astype(np.uint8).view("S1")
    values = random.integers(0, 2**63, (n, *of.dimensions)).astype(of.element)
    return (*offsets, values) if offsets else values


def test_every_shape_that_is_written_reads_back(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    kinds = {
        f"C{i}_v" if kind.endswith("[][3]") else f"c{i}": kind for i, kind in enumerate(WRITTEN)
    }
    path = tmp_path / "written.root"
    writer = _core.TreeWriter(str(path), "Events", list(kinds.items()), "zstd:1")
    clusters = []
    for n_events in (100, 1, 0, 37):
        clusters.append(
            {name: random_column(kind, n_events, random) for name, kind in kinds.items()}
        )
        writer.write(clusters[-1])
    writer.close()
    ours = _core.read_columns(str(path), "Events", list(kinds))
    with uproot.open(path) as file:
        for name in kinds:
            written = ak.concatenate([as_array(cluster[name]) for cluster in clusters])
            assert_same(as_array(ours[name]), written, name)
            assert_same(file["Events"][name].array(), written, name)


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("float32[4]", np.zeros((3, 5), np.float32)),
        ("float32[4]", np.zeros(3, np.float32)),
        ("float32[][]", (np.array([0, 1, 2, 2]), np.zeros(2, np.float32))),
        ("float32[][]", (np.array([0, 1, 2, 2]), np.array([0, 1]), np.zeros(1, np.float32))),
        ("string", np.zeros(3)),
    ],
)
def test_columns_of_another_shape_are_not_written(tmp_path: Path, kind: str, wrong: Any) -> None:
    writer = _core.TreeWriter(str(tmp_path / "x.root"), "t", [("c", kind)], "zstd:5")
    with pytest.raises(JobError, match='column "c"'):
        writer.write({"c": wrong})


def test_a_damaged_vector_is_an_error(shapes: Path, tmp_path: Path) -> None:
    """A count within an entry that does not fit: of a file whose baskets are not compressed."""
    columns = [("v", "int32[][]")]
    path = tmp_path / "v.root"
    writer = _core.TreeWriter(str(path), "Events", columns, "none")
    writer.write({"v": (np.array([0, 1]), np.array([0, 2]), np.array([77777, 88888], np.int32))})
    writer.close()
    whole = path.read_bytes()
    entry = (2).to_bytes(4, "big") + (77777).to_bytes(4, "big")
    assert whole.count(entry) == 1
    path.write_bytes(whole.replace(entry, (9).to_bytes(4, "big") + entry[4:]))
    with pytest.raises(InputError, match="longer than its entry"):
        _core.read_columns(str(path), "Events", ["v"])


@pytest.mark.parametrize(
    "name", ["float", "float32[4][]", "float32[0]", "float32[x]", "float32[][][][][][][]",
             "string[4]", "float32[", "float32[2][2][2][2]"],
)  # fmt: skip
def test_names_of_no_type_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(JobError, match="is not a column type"):
        _core.TreeWriter(str(tmp_path / "x.root"), "t", [("c", name)], "zstd:5")
