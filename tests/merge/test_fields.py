"""Trees and RNTuples whose files differ in their fields: all fields, or the common ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

from forkrun import merge_files
from forkrun.errors import ConfigError, InputError
from forkrun.formats.fields import FileFields, wider_type
from tests.server.root_program import call_root
from tests.support.jobs import forkrun
from tests.support.opened_by_root import open_with_root

Values = Mapping[str, list[Any]]

JETS = [[1.5, 2.5], [], [3.5]]
TAUS = [[], [7.0, 8.0]]
ONE: Values = {
    "event": [1, 2, 3],
    "x": [0.5, 1.5, 2.5],
    "n": [7, 8, 9],
    "flag": [True, False, True],
    "nJet": [2, 0, 1],
    "Jet_pt": JETS,
    "Jet_id": [[1, 2], [], [3]],
    "Jet_eta": JETS,
    "only": [1.25, 2.25, 3.25],
}
TWO: Values = {
    "event": [4, 5],
    "x": [1e-300, 2.0],
    "n": [2**40, -1],
    "nJet": [1, 2],
    "Jet_pt": [[9.0], [8.0, 7.0]],
    "Jet_id": [[-5], [300, 4]],
    "nTau": [0, 2],
    "Tau_pt": TAUS,
    "Tau_mass": TAUS,
}
TYPES = (
    {"event": "u8", "x": "f4", "n": "i4", "flag": "?", "Jet_id": "u1", "only": "f4"},
    {"event": "u8", "x": "f8", "n": "i8", "Jet_id": "i2"},
)
UNION: Values = {
    "event": [1, 2, 3, 4, 5],
    "x": [*ONE["x"], *TWO["x"]],
    "n": [*ONE["n"], *TWO["n"]],
    "flag": [*ONE["flag"], False, False],
    "nJet": [2, 0, 1, 1, 2],
    "Jet_pt": [*JETS, *TWO["Jet_pt"]],
    "Jet_id": [*ONE["Jet_id"], *TWO["Jet_id"]],
    "Jet_eta": [*JETS, [0.0], [0.0, 0.0]],  # lists of a file that has their counter
    "only": [*ONE["only"], 0, 0],
    "nTau": [0, 0, 0, 0, 2],
    "Tau_pt": [[], [], [], *TAUS],
    "Tau_mass": [[], [], [], *TAUS],
}
COMMON = ("event", "x", "n", "nJet", "Jet_pt", "Jet_id")
WIDENED = {"x": "float64", "n": "int64", "Jet_id": "int16[]"}
FORMATS = ("ttree", "rntuple")


def arrays(values: Values, types: Mapping[str, str]) -> dict[str, Any]:
    """Columns of a tree, lists of one prefix together."""
    single = {n: np.array(v, types[n]) for n, v in values.items() if n in types and "_" not in n}
    lists: dict[str, dict[str, Any]] = {}
    for name, of_entries in values.items():
        collection, _, member = name.partition("_")
        if member:
            flat = ak.values_astype(ak.Array(of_entries), types.get(name, "f4"))
            lists.setdefault(collection, {})[member] = flat
    return single | {name: ak.zip(members) for name, members in lists.items()}


def write(folder: Path, format: str, number: int, **more: Any) -> Path:
    path = folder / f"{number}.{format}.root"
    tree = path.with_suffix(".tree") if format == "rntuple" else path
    with uproot.recreate(tree) as file:
        file.mktree("Events", arrays((ONE, TWO)[number], TYPES[number]) | more)
    if format == "rntuple":
        merge_files(tree, path, format="rntuple")
    return path


def read(path: Path, table: str = "Events") -> dict[str, list[Any]]:
    with uproot.open(path) as file:
        found = file[table]
        names = {name for name in UNION if name in found.keys()}  # noqa: SIM118
        return {name: found[name].array().tolist() for name in names}


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("formats", [(a, b) for a in FORMATS for b in FORMATS])
def test_files_with_other_fields_are_joined(
    tmp_path: Path, formats: tuple[str, str], to: str
) -> None:
    inputs = [write(tmp_path, format, number) for number, format in enumerate(formats)]
    changes: list[FileFields] = []
    union, common = tmp_path / "union.root", tmp_path / "common.root"
    entries = merge_files(inputs, union, format=to, fields="union", note_fields=changes.append)
    assert entries == {"Events": 5}
    assert read(union) == UNION
    one, two = changes
    assert set(one.filled) == {"nTau", "Tau_pt", "Tau_mass"}
    assert set(two.filled) == {"flag", "Jet_eta", "only"}
    assert (one.file, one.n_entries, two.n_entries) == (str(inputs[0]), 3, 2)
    widened = {name: kind for name, kind in one.widened.items() if name != "nJet"}
    assert (widened, one.left_out) == (WIDENED, [])  # a tree's counter may be signed
    changes.clear()
    merge_files(inputs, common, format=to, fields="common", note_fields=changes.append)
    assert read(common) == {name: UNION[name] for name in COMMON}
    assert set(changes[0].left_out) == {"flag", "Jet_eta", "only"}
    assert set(changes[1].left_out) == {"nTau", "Tau_pt", "Tau_mass"}
    assert {path.suffix for path in tmp_path.iterdir()} <= {".root", ".tree"}


def test_the_order_of_files_settles_the_order_of_entries_and_nothing_else(tmp_path: Path) -> None:
    one, two = (write(tmp_path, "ttree", number) for number in (0, 1))
    out, again = tmp_path / "out.root", tmp_path / "again.root"
    options: dict[str, Any] = {"fields": "union", "compression": "lz4:4", "recluster": "always"}
    merge_files([two, one, two], out, verify=True, **options)
    assert read(out) == {n: [*v[3:], *v[:3], *v[3:]] for n, v in UNION.items()}
    merge_files([two, one, two], again, **options)
    assert out.read_bytes() == again.read_bytes()
    with uproot.open(out) as file:
        assert {str(branch.compression) for branch in file["Events"].branches} == {"LZ4(4)"}


def test_the_command_says_what_it_filled(tmp_path: Path) -> None:
    inputs = [write(tmp_path, "ttree", number) for number in (0, 1)]
    for number, path in enumerate(inputs):
        with uproot.update(path) as file:
            file.mktree("Runs", {"run": np.array([number]), f"sum{number}": np.array([1.5])})
    refused = forkrun("merge", "out.root", *inputs, cwd=tmp_path)
    assert refused.code == 3
    assert "--fields union fills what is missing, --fields common leaves it out" in refused.err
    ended = forkrun("merge", "out.root", *inputs, "--fields", "union", cwd=tmp_path)
    assert ended.code == 0, ended.err
    said = f'"Events": 0, false or empty in 2 entries of {inputs[1]}, which lack them: flag,'
    assert said in ended.out
    assert '"Events": widened: ' in ended.out
    asked = ("--fields", "common", "--force", "--json")
    ended = forkrun("merge", "out.root", *inputs, *asked, cwd=tmp_path)
    found = json.loads(ended.out)
    assert found["entries"] == {"Events": 5, "Runs": 2}
    of_runs = [each for each in found["fields"] if each["table"] == "Runs"]
    assert [each["left_out"] for each in of_runs] == [["sum0"], ["sum1"]]
    with uproot.open(tmp_path / "out.root") as file:
        assert file["Runs"].keys() == ["run"]


def test_a_file_without_entries_and_tables_of_one_file_add_no_fields(tmp_path: Path) -> None:
    one = write(tmp_path, "ttree", 0)
    none = tmp_path / "none.root"
    with uproot.recreate(none) as file:
        file.mktree("Events", {"other": "f4"})
        file.mktree("Extra", {"y": np.arange(3)})
    changes: list[FileFields] = []
    out = tmp_path / "out.root"
    entries = merge_files([none, one], out, fields="union", note_fields=changes.append)
    assert entries == {"Events": 3, "Extra": 3}
    assert (read(out), changes) == (ONE, [])


def test_what_no_type_holds_is_an_error_with_file_field_and_remedy(tmp_path: Path) -> None:
    paths = []
    for name, values in (("a", np.arange(3)), ("b", np.ones((3, 4)))):
        paths.append(tmp_path / f"{name}.root")
        with uproot.recreate(paths[-1]) as file:
            file.mktree("Events", {"event": np.arange(3), "x": values})
    out = tmp_path / "out.root"
    problem = (
        r'a.root: "Events": field "x" is int64, and float64\[4\] in .*b.root: no type holds both'
        r" without loss; leave such fields out: --fields common"
    )
    with pytest.raises(InputError, match=problem):
        merge_files(paths, out, fields="union")
    assert not out.exists()
    merge_files(paths, out, fields="common")
    with uproot.open(out) as file:
        assert file["Events"].keys() == ["event"]
    with pytest.raises(ConfigError, match='fields "all" must be strict, union or common'):
        merge_files(paths, out, fields="all", force=True)


def write_objects(paths: list[str]) -> None:
    """A tree with a list of vectors, one in a folder, and a histogram; for `call_root`."""
    import ROOT

    for number, path in enumerate(paths):
        file = ROOT.TFile(path, "RECREATE")
        tree = ROOT.TTree("Events", "")
        vectors, own = ROOT.std.vector["TLorentzVector"](), ROOT.std.vector["float"]()
        tree.Branch("p4", vectors)
        tree.Branch(f"v{number}", own)
        for entry in range(20):
            vectors.clear()
            own.clear()
            for i in range(entry % 3):
                vectors.push_back(ROOT.TLorentzVector(entry, i, number, 4.0))
                own.push_back(entry + i)
            tree.Fill()
        tree.Write()
        histogram = ROOT.TH1D("h", "", 2, 0, 2)
        histogram.Fill(number)
        histogram.Write()
        file.mkdir("folder").cd()
        within = ROOT.TTree("tree", "")
        y = np.array([float(number)])
        within.Branch(f"y{number}", y, f"y{number}/D")
        within.Fill()
        within.Write()
        file.Close()


def p4_and_lists(path: str) -> list[list[Any]]:
    """Of each entry; for `call_root`."""
    import ROOT

    file = ROOT.TFile.Open(path)
    names = ("v0", "v1")
    return [
        [[v.X() + 100 * v.Z() for v in entry.p4], *(list(getattr(entry, n)) for n in names)]
        for entry in file.Get("Events")
    ]


@pytest.mark.long
def test_branches_of_objects_are_kept_and_root_reads_what_was_filled(tmp_path: Path) -> None:
    files = [tmp_path / f"objects{number}.root" for number in (0, 1)]
    call_root(write_objects, [str(file) for file in files])
    out, tables = tmp_path / "out.root", tmp_path / "tables.root"
    assert merge_files(files, out, fields="union") == {"Events": 40, "folder/tree": 2}
    values = [[float(entry + i) for i in range(entry % 3)] for entry in range(20)]
    vectors = [[entry + 100 * n for _ in range(entry % 3)] for n in (0, 1) for entry in range(20)]
    found = call_root(p4_and_lists, str(out))
    lists = [[v, []] for v in values] + [[[], v] for v in values]
    assert found == [[p4, *own] for p4, own in zip(vectors, lists, strict=True)]
    with uproot.open(out) as file:
        assert file["h"].values().tolist() == [1, 1]
        assert file["folder/tree"].arrays(["y0", "y1"]).tolist() == [
            {"y0": 0.0, "y1": 0.0},
            {"y0": 0.0, "y1": 1.0},
        ]
    inputs = [write(tmp_path, format, n) for n, format in enumerate(("ttree", "rntuple"))]
    merge_files(inputs, tables, format="rntuple", fields="union")
    assert [each["Events"][0] for each in open_with_root([out, tables])] == [40, 5]


@pytest.mark.parametrize(
    ("kinds", "wide"),
    [
        (("float32", "float64"), "float64"),
        (("int32[]", "int64[]"), "int64[]"),
        (("uint8", "int8"), "int16"),
        (("uint32", "int32"), "int64"),
        (("uint16[3]", "float32[3]"), "float32[3]"),
        (("int32", "float32"), "float64"),
        (("bool", "uint8"), "uint8"),
        (("uint64", "int64"), ""),
        (("int64", "float64"), ""),
        (("float32", "float32[]"), ""),
        (("string", "int8[]"), ""),
        (("other:TObject",), ""),
    ],
)
def test_types_are_widened_without_loss_or_not_at_all(kinds: tuple[str, ...], wide: str) -> None:
    assert wider_type(kinds) == wide
    assert wider_type(kinds[::-1]) == wide
    assert wider_type(("uint32", "int32"), counts=True) == "int32"
