"""Outputs in RNTuples hold what those in trees hold, for every reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

from forkrun import _core
from tests.support.jobs import forkrun, output_digests, write_job
from tests.support.object_file import hadd
from tests.support.rntuple_by_root import write_kinds
from tests.support.rntuple_files import by_forkrun, by_root, by_uproot, types_of
from tests.support.rntuple_pair import events, write_pair

NOT_OF_RDATAFRAME = "letter", "matrix", "corners", "perhaps"
NO_IDS = {"run_branch": "", "lumi_branch": "", "event_branch": ""}


def skim(folder: Path, source: dict[str, Any], *more: Any, **output: Any) -> Path:
    """The file of an output in an RNTuple."""
    made = {"label": "all", "format": "rntuple", **output}
    job = write_job(folder, {"source": source, "outputs": [made]})
    ended = forkrun("run", job, "-o", "run", "--force", *more, cwd=folder)
    assert ended.code == 0, ended.err
    return folder / "run/output/all.root"


def write_numbers(path: Path, n_entries: int) -> dict[str, Any]:
    """A tree of all types of numbers, one each, arrays and lists; its columns."""
    rng = np.random.default_rng(5)
    counts = rng.integers(0, 4, n_entries)
    n_items = int(counts.sum())
    kinds = ("bool", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")
    bits = {kind: rng.integers(0, 256, (n_entries + n_items) * 8, np.uint8) for kind in kinds}
    values = {
        kind: (each % 2 if kind == "bool" else each).view(kind)[: n_entries + n_items]
        for kind, each in bits.items()
    }
    columns: dict[str, Any] = {f"one_{kind}": each[:n_entries] for kind, each in values.items()}
    lists = {kind: ak.unflatten(each[n_entries:], counts) for kind, each in values.items()}
    with uproot.recreate(path) as file:
        columns["matrix"] = rng.normal(size=(n_entries, 3, 2)).astype("f4")
        file.mktree("Events", {**columns, "List": ak.zip(lists)})
    return columns | {f"List_{kind}": each for kind, each in lists.items()} | {"nList": counts}


def assert_same(found: Any, wanted: dict[str, Any]) -> None:
    """All of these columns; "not a number" counts as itself."""
    for name, column in wanted.items():
        assert repr(found[name]) == repr(ak.to_list(column)), name


@pytest.mark.parametrize("step", [0, 7])
def test_numbers_of_a_tree_are_read_by_everyone_as_they_were(tmp_path: Path, step: int) -> None:
    columns = write_numbers(tmp_path / "in.root", 1000)
    file = str(skim(tmp_path, {"files": [str(tmp_path / "in.root")], **NO_IDS}))
    assert_same(by_forkrun(file, "Events", step), columns)
    assert_same(by_uproot(file, "Events", list(columns)), columns)


MUONS = [f"Muon.{name}" for name in ("pt", "eta", "phi", "mass", "charge")]
ALONE = ["run", "luminosityBlock", "event", "MET_pt"]


def test_columns_have_one_field_each_unless_names_of_trees_are_asked_for(tmp_path: Path) -> None:
    tree, _ = write_pair(tmp_path, "a", 300)
    both = {*ALONE, "Muon", *MUONS, "nMuon", *(name.replace(".", "_") for name in MUONS)}
    source = {"files": [str(tree)]}
    for _ in ("of a tree", "of an RNTuple with both"):
        made = skim(tmp_path, source)
        wanted = types_of(str(made), "Events")
        assert set(wanted) == both - {"Muon"}  # which forkrun finds by either name
        with uproot.open(made) as file:
            assert set(file["Events"].keys()) == {*ALONE, "Muon", *MUONS}
            assert file["Events"]["Muon"].array().tolist() == events(300)["Muon"].tolist()
        made = skim(tmp_path, source, flat_names=True).rename(tmp_path / "both.root")
        assert types_of(str(made), "Events") == wanted
        with uproot.open(made) as file:
            assert set(file["Events"].keys()) == both
            assert file["Events"]["nMuon"].array().tolist() == ak.num(events(300)["Muon"]).tolist()
        source = {"files": [str(made)]}


def test_names_that_say_more_than_those_of_members_stay(tmp_path: Path) -> None:
    counts = np.arange(100) % 3
    lists = {"a": ak.unflatten(np.arange(counts.sum()), counts)}
    with uproot.recreate(tmp_path / "in.root") as file:
        file.mktree("Events", lists)  # with a counter "na"
        file.mktree("More", {"List": ak.zip({"x": lists["a"]}), "List_xy": counts})
    for tree, fields in (("Events", {"a", "na"}), ("More", {"List", "List.x", "List_xy"})):
        source = {"files": [str(tmp_path / "in.root")], "tree": tree, **NO_IDS}
        with uproot.open(skim(tmp_path, source)) as file:
            assert set(file[tree].keys()) == fields


@pytest.mark.slow
def test_every_kind_of_column_of_an_rntuple_is_there_again(tmp_path: Path) -> None:
    made = write_kinds(tmp_path / "in.root", 1000, 505)
    wanted = by_forkrun(made, "kinds")
    file = str(skim(tmp_path, {"files": [made], "tree": "kinds", **NO_IDS}))
    found = by_forkrun(file, "kinds")
    assert found == wanted
    assert types_of(file, "kinds").keys() >= wanted.keys()


@pytest.mark.long  # RDataFrame compiles for half a minute
def test_rdataframe_reads_numbers_and_other_kinds_as_they_were(tmp_path: Path) -> None:
    columns = write_numbers(tmp_path / "in.root", 1000)
    source = {"files": [str(tmp_path / "in.root")], **NO_IDS}
    file = str(skim(tmp_path, source, flat_names=True))
    flat = [name for name in columns if name != "matrix"]  # which RDataFrame does not know
    assert_same(by_root(file, "Events", flat), {name: columns[name] for name in flat})
    made = write_kinds(tmp_path / "kinds.root", 1000, 505)
    wanted = by_forkrun(made, "kinds")
    source = {"files": [made], "tree": "kinds", **NO_IDS}
    file = str(skim(tmp_path, source, drop=["bits"]))  # a bitset, of which RDataFrame raises
    of_root = by_root(file, "kinds", [n for n in wanted if n not in NOT_OF_RDATAFRAME])
    for name, column in of_root.items():
        assert column == wanted[name], name


@pytest.mark.slow
def test_outputs_have_the_same_bytes_for_any_children_threads_and_units(tmp_path: Path) -> None:
    found = []
    for kind, file in zip(("tree", "ntuple"), write_pair(tmp_path, "a", 1000), strict=True):
        folder = tmp_path / kind
        folder.mkdir()
        for children, threads, unit in ((0, 1, 1000), (1, 2, 37), (3, 1, 90)):
            settings = (
                "--children", children, "--set", f"threads.per_child={threads}",
                "--set", f"forking.max_unit_events={unit}",
            )  # fmt: skip
            skim(folder, {"files": [str(file)]}, *settings)
            found.append(output_digests(folder / "run"))
        assert found[-1] == found[-2] == found[-3]


def test_outputs_have_the_format_of_the_input_if_none_is_named(tmp_path: Path) -> None:
    for file, kind in zip(write_pair(tmp_path, "a", 100), ("ttree", "rntuple"), strict=True):
        job = write_job(tmp_path, {"source": {"files": [str(file)]}, "outputs": [{"label": "all"}]})
        ended = forkrun("run", job, "-o", "run", "--force", cwd=tmp_path)
        assert ended.code == 0, ended.err
        made = tmp_path / "run/output/all.root"
        assert _core.index_tree(str(made), "Events", "", "", "")["format"] == kind
        again = forkrun("run", job, "-o", "run", cwd=tmp_path)
        assert again.code == 0, again.err


def test_large_columns_have_several_pages(tmp_path: Path) -> None:
    n = 300_000
    counts = np.arange(n) % 3
    values = np.arange(counts.sum(), dtype=np.int32)
    with uproot.recreate(tmp_path / "in.root") as file:
        file.mktree(
            "Events", {"x": np.arange(n), "List": ak.zip({"v": ak.unflatten(values, counts)})}
        )
    source = {"files": [str(tmp_path / "in.root")], **NO_IDS}
    with uproot.open(skim(tmp_path, source, flat_names=True)) as file:
        pages = file["Events"].page_link_list
        assert max(len(column.pages) for cluster in pages for column in cluster) > 1
        assert file["Events"]["x"].array().tolist() == list(range(n))
        assert ak.flatten(file["Events"]["List_v"].array()).tolist() == values.tolist()
        assert file["Events"]["nList"].array().tolist() == counts.tolist()


def test_an_output_without_events_has_its_fields(tmp_path: Path) -> None:
    tree, _ = write_pair(tmp_path, "a", 100)
    source = {"files": [str(tree)]}
    cut = {"label": "none", "type": "expression:MET_pt < -1", "kind": "filter"}
    job = {
        "source": source, "modules": [cut], "paths": {"none": ["none"]},
        "outputs": [{"label": "all", "format": "rntuple", "paths": ["none"]}],
    }  # fmt: skip
    ended = forkrun("run", write_job(tmp_path, job), "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    made = str(tmp_path / "run/output/all.root")  # RDataFrame dies of those that ROOT writes, too
    with uproot.open(made) as file:
        assert file["Events"].num_entries == 0
        assert file["Events"]["Muon"].array().tolist() == []
    assert by_forkrun(made, "Events")["Muon.pt"] == []


NEW = """
import forkrun

job = forkrun.Job(["{file}"], name="new")


@job.producer
def scaled(block):
    return {{"Muon_scaled": block.Muon_pt * 2}}


job.redefine("MET_pt", "MET_pt + 1")

job.path("some").filter("nMuon >= 2")
job.output("all", paths=["some"], format="rntuple", decisions=True)
"""


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("kind", ["tree", "ntuple"])
def test_new_columns_are_members_of_the_list_that_counts_them(tmp_path: Path, kind: str) -> None:
    write_pair(tmp_path, "a", 300)
    (tmp_path / "job.py").write_text(NEW.format(file=tmp_path / f"a_{kind}.root"))
    ended = forkrun("run", "job.py", "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    columns = events(300)
    muons = columns["Muon"][ak.num(columns["Muon"]) >= 2]
    with uproot.open(tmp_path / "run/output/all.root") as file:
        found = file["Events"]
        assert found["Muon"].array()["scaled"].tolist() == (muons.pt * 2).tolist()
        met = columns["MET_pt"][np.asarray(ak.num(columns["Muon"]) >= 2)]
        assert found["MET_pt"].array().tolist() == (met + 1).tolist()
        assert found["forkrun_paths_some"].array().tolist() == [True] * len(muons)


def test_columns_under_two_names_are_dropped_by_either(tmp_path: Path) -> None:
    _, ntuple = write_pair(tmp_path, "a", 100)
    for pattern in ("Muon_*", "Muon.*"):
        file = skim(tmp_path, {"files": [str(ntuple)]}, drop=[pattern], flat_names=True)
        with uproot.open(file) as opened:
            assert not [name for name in opened["Events"].keys() if "_" in name and "Muon" in name]  # noqa: SIM118


def test_there_is_a_file_for_each_lumi_where_that_is_asked_for(tmp_path: Path) -> None:
    tree, _ = write_pair(tmp_path, "a", 300)
    skim(tmp_path, {"files": [str(tree)]}, per_lumi=True)
    files = sorted((tmp_path / "run/output/all").glob("*.root"))
    assert len(files) == 3
    numbers = [uproot.open(file)["Events"]["event"].array().tolist() for file in files]
    assert numbers == [list(range(first, first + 100)) for first in (100, 200, 300)]


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("has_objects", [False, True])
def test_what_trees_have_beside_their_events_is_carried(tmp_path: Path, has_objects: bool) -> None:
    columns = events(200)
    with uproot.recreate(tmp_path / "in.root") as file:
        file.mktree("Events", columns)
        file.mktree("Runs", {"run": np.ones(1, np.uint32), "sum": np.array([2.5])})
        if has_objects:
            file["h"] = np.histogram(columns["MET_pt"])
    digests = set()
    for children in (1, 2):
        made = skim(tmp_path, {"files": [str(tmp_path / "in.root")]}, "--children", children)
        digests.add(output_digests(tmp_path / "run")["all.root"])
    assert len(digests) == 1
    with uproot.open(made) as file:
        assert file["Runs"]["sum"].array().tolist() == [2.5]
        assert file["Events"]["Muon"].array().tolist() == columns["Muon"].tolist()
        assert ("h" in file) == has_objects
    assert by_root(str(made), "Events", ["MET_pt"]) == {"MET_pt": columns["MET_pt"].tolist()}


def test_what_cannot_be_in_an_rntuple_is_refused_before_any_event(tmp_path: Path) -> None:
    with uproot.recreate(tmp_path / "in.root") as file:
        file.mktree("Events", {"a/b": np.arange(3)})
    output = {"label": "all", "format": "rntuple"}
    source = {"files": [str(tmp_path / "in.root")], **NO_IDS}
    ended = forkrun(
        "check", write_job(tmp_path, {"source": source, "outputs": [output]}), cwd=tmp_path
    )
    assert ended.code == 2
    assert '"a/b" cannot be the name of a field in an RNTuple' in ended.err


@pytest.mark.slow
def test_hadd_joins_lists_whose_members_do_not_come_together(tmp_path: Path) -> None:
    """It takes for granted that columns are in the order of their fields, depth first. Samples have
    a late member, "Muon_extra0001"."""
    assert forkrun("sample", "in.root", "--events", 100, "--lumis", 1, cwd=tmp_path).code == 0
    file = str(skim(tmp_path, {"files": [str(tmp_path / "in.root")]}))
    hadd(tmp_path / "joined.root", [file] * 2)
    names = sorted(types_of(file, "Events"))
    once, joined = (by_uproot(path, "Events", names) for path in (file, f"{tmp_path}/joined.root"))
    assert "Muon_extra0001" in names
    assert_same(joined, {name: ak.concatenate([once[name]] * 2) for name in names})
