"""Reading columns and writing trees, compared with uproot, which knows nothing of us."""

from __future__ import annotations

from pathlib import Path

import awkward as ak
import numpy as np
import pytest
import uproot

from forkrun import _core
from forkrun.config.source import IdBranches
from forkrun.errors import InputError, OutputError
from forkrun.index.model import FileIndex
from forkrun.index.read import index_files
from forkrun.modules.columns import as_array
from tests.support.odd_file import N_EVENTS, RECIPES, write_odd_file

IDS = ("run", "luminosityBlock", "event")
REAL_FILES = {
    "nanoAOD_2015_CMS_Open_Data_ttbar.root": (200, 947),
    "nano_dy.root": (40, 1499),
    "nano_dimuon.root": (40, 1601),
}


def assert_same(ours: object, theirs: ak.Array, name: str) -> None:
    """To the last bit, with the same type."""
    if isinstance(ours, tuple) and (len(ours) > 2 or ours[1].dtype.kind == "S"):
        assert str(as_array(ours).type) == str(theirs.type), name
        assert ak.array_equal(as_array(ours), theirs), name
        return
    if isinstance(ours, tuple):
        offsets, values = ours
        assert np.array_equal(np.diff(offsets), ak.to_numpy(ak.num(theirs))), name
        theirs = ak.flatten(theirs)
    else:
        values = ours
    expected = ak.to_numpy(theirs)
    assert values.dtype == expected.dtype, name
    assert values.tobytes() == expected.tobytes(), name


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long) if name == "nano_dimuon.root" else name
        for name in REAL_FILES
    ],
)
def test_every_branch_of_a_real_file_reads_as_with_uproot(real_data: Path, name: str) -> None:
    path = str(real_data / name)
    index = _core.index_tree(path, "Events", *IDS)
    names = [branch for branch, kind, _ in index["branches"] if not kind.startswith("other:")]
    assert (index["n_entries"], len(names)) == REAL_FILES[name]
    columns = _core.read_columns(path, "Events", names)
    with uproot.open(path) as file:
        for branch in names:
            assert_same(columns[branch], file["Events"][branch].array(), branch)


@pytest.fixture(scope="module", params=RECIPES)
def odd_file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("odd")
    return write_odd_file(folder / f"{request.param}.root", request.param)


def readable(path: Path) -> list[str]:
    branches = _core.index_tree(str(path), "Events", *IDS)["branches"]
    return [name for name, kind, _ in branches if not kind.startswith("other:")]


RANGES = [(0, N_EVENTS), (17, 18), (40, 231), (299, 300), (5, 5)]


@pytest.mark.quick_cases(4)
@pytest.mark.parametrize(("first", "last"), RANGES)
def test_any_range_of_entries_reads_as_with_uproot(odd_file: Path, first: int, last: int) -> None:
    columns = _core.read_columns(str(odd_file), "Events", readable(odd_file), first, last)
    with uproot.open(odd_file) as file:
        for name, column in columns.items():
            theirs = file["Events"][name].array(entry_start=first, entry_stop=last)
            assert_same(column, theirs, name)


def test_branches_that_are_no_columns_are_named_with_their_type(odd_file: Path) -> None:
    branches = _core.index_tree(str(odd_file), "Events", *IDS)["branches"]
    others = {name: kind for name, kind, _ in branches if kind.startswith("other:")}
    assert others == {"lorentz": "other:TLorentzVector"}
    with pytest.raises(InputError, match='"lorentz" is of type TLorentzVector'):
        _core.read_columns(str(odd_file), "Events", ["lorentz"])


def test_the_index_has_lumis_and_their_digests(odd_file: Path) -> None:
    index = _core.index_tree(str(odd_file), "Events", *IDS)
    ranges = FileIndex.from_json(str(odd_file), index).ranges
    assert [r[:4] for r in ranges] == [(7, 1, 0, 100), (7, 2, 100, 200), (7, 3, 200, 300)]
    digest = _core.EventDigest()
    digest.add(7, 2, np.arange(1199, 1099, -1, dtype=np.uint64))  # in any order
    assert ranges[1].digest == digest.hex
    assert index["clusters"][0] == 0
    assert index["clusters"][-1] == N_EVENTS


def test_without_id_branches_a_file_is_one_lumi(odd_file: Path) -> None:
    index = _core.index_tree(str(odd_file), "Events", "", "", "", 4)
    ranges = FileIndex.from_json(str(odd_file), index).ranges
    assert [r[:4] for r in ranges] == [(1, 5, 0, N_EVENTS)]


def test_a_wrong_name_is_answered_with_the_right_ones(odd_file: Path) -> None:
    """That of a tree is an error if no file has it: here it is only told."""
    index = _core.index_tree(str(odd_file), "Event", "run", "luminosityBlock", "event")
    assert index["absent"] == f'{odd_file}: no tree "Event"; its trees are: Events'
    with pytest.raises(InputError, match='no tree "Event"; its trees are: Events; name the tree'):
        index_files([str(odd_file)], IdBranches("Event", "run", "luminosityBlock", "event"))
    with pytest.raises(InputError, match='"run"'):
        _core.index_tree(str(odd_file), "Events", "rum", "luminosityBlock", "event")


def test_damaged_files_are_errors(odd_file: Path, tmp_path: Path) -> None:
    whole = odd_file.read_bytes()
    for name, content in {"cut": whole[: len(whole) // 2], "text": b"not a file of ROOT"}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=name):
            _core.index_tree(str(tmp_path / name), "Events", *IDS)
    with pytest.raises(InputError, match="No such file"):
        _core.index_tree(str(tmp_path / "missing"), "Events", *IDS)


INTEGERS = [f"{sign}int{bits}" for bits in (8, 16, 32, 64) for sign in ("", "u")]
TYPES = ["bool", *INTEGERS, "float32", "float64"]


@pytest.mark.parametrize("compression", ["zstd:5", "lz4:4", "zlib:1", "lzma:6", "none"])
def test_what_is_written_reads_back_with_uproot(tmp_path: Path, compression: str) -> None:
    random = np.random.default_rng(1)
    kinds = {kind: kind for kind in TYPES} | {f"Jet_{kind}": f"{kind}[]" for kind in TYPES}
    path = tmp_path / "written.root"
    writer = _core.TreeWriter(str(path), "Events", list(kinds.items()), compression)
    written: dict[str, list[np.ndarray]] = {name: [] for name in kinds}
    counts = []
    for n_events in (1000, 1, 0, 37):
        count = random.integers(0, 5, n_events)
        offsets = np.concatenate([[0], np.cumsum(count)])
        cluster = {}
        for name, kind in kinds.items():
            n = offsets[-1] if kind.endswith("[]") else n_events
            values = random.integers(0, 2**63, n).astype(kind.removesuffix("[]"))
            cluster[name] = (offsets, values) if kind.endswith("[]") else values
            written[name].append(values)
        writer.write(cluster)
        counts.append(count)
    writer.close()
    with uproot.open(path) as file:
        tree = file["Events"]
        assert tree.num_entries == 1038
        assert np.array_equal(tree["nJet"].array(library="np"), np.concatenate(counts))
        assert tree["nJet"].member("fLeaves")[0].member("fMaximum") == 4  # ROOT reserves so many
        for name in kinds:
            array = tree[name].array()
            flat = ak.to_numpy(ak.flatten(array) if name.startswith("Jet_") else array)
            expected = np.concatenate(written[name])
            assert (flat.dtype, flat.tobytes()) == (expected.dtype, expected.tobytes()), name


def test_columns_of_different_lengths_are_not_written(tmp_path: Path) -> None:
    columns = [("a", "int32"), ("b", "int32")]
    writer = _core.TreeWriter(str(tmp_path / "x.root"), "t", columns, "zstd:5")
    with pytest.raises(OutputError, match='"b" has 2 events, "a" has 3'):
        writer.write({"a": np.arange(3), "b": np.arange(2)})
