"""`forkrun columns` and `job.columns()`: what the input holds, and messages that look there."""

from __future__ import annotations

import array
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

import forkrun
from forkrun.errors import ConfigError
from forkrun.formats.described import why_no_column
from tests.server.root_program import call_root
from tests.support.files import write_events
from tests.support.jobs import forkrun as command
from tests.support.jobs import write_job
from tests.support.object_file import write_branches


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("objects") / "objects.root"
    call_root(write_branches, str(path))
    return path


def sizes_by_root(path: str) -> dict[str, Any]:
    import ROOT

    file = ROOT.TFile(path)
    return {
        branch.GetName(): [branch.GetTotBytes("*"), branch.GetZipBytes("*")]
        for branch in file.Get("Events").GetListOfBranches()
    }


def write_leaves(path: str) -> None:
    import ROOT

    file = ROOT.TFile(path, "RECREATE", "", 404)
    tree = ROOT.TTree("Events", "")
    ids, packed = array.array("i", [1, 2]), array.array("f", [0.5])
    tree.Branch("id", ids, "number/I:lumi/I")
    tree.Branch("packed", packed, "packed/f")
    tree.Fill()
    tree.Write()
    file.Close()


@pytest.mark.slow
def test_sizes_are_those_of_root_and_each_class_is_named(objects: Path) -> None:
    columns = forkrun.Job(objects).columns()
    expected = call_root(sizes_by_root, str(objects))
    tops = [column for column in columns if column.name in expected]
    assert {c.name: [c.n_bytes, c.n_stored] for c in tops} == expected
    assert columns["AuxDyn.nested"].type == "int32[][]"
    assert columns["many0"].type == "vector<TLorentzVector>"
    assert columns["many0"].why_none.startswith("objects, whose members are the columns")
    assert columns["many0.fE"].type == columns["many99.fE"].type == "float64[]"
    assert columns["AuxDyn.deep"].type == "float32[][][]"
    assert columns["clones"].type == "TClonesArray"
    assert columns["AuxDyn.pt"].compression == columns["many99"].compression == "zlib:1"
    with pytest.raises(KeyError, match='no branch "many1x"; did you mean "many1"'):
        columns["many1x"]


def test_sizes_of_plain_trees_are_those_of_root(tmp_path: Path) -> None:
    file = write_events(tmp_path / "a.root", [(1, 1, 3000)])
    columns = forkrun.Job(file).columns()
    expected = call_root(sizes_by_root, str(file))
    assert {c.name: [c.n_bytes, c.n_stored] for c in columns} == expected
    assert [c.compression for c in columns] == ["zstd:1"] * len(expected)
    assert (columns["Jet_pt"].collection, columns["event"].collection) == ("Jet", "")


def test_a_compression_that_the_file_does_not_say_is_not_called_none(tmp_path: Path) -> None:
    with uproot.recreate(tmp_path / "a.root", compression=uproot.ZLIB(1)) as file:
        names = ("run", "luminosityBlock", "event")
        columns = {name: np.ones(1000, np.uint32) for name in names}
        file.mktree("Events", {name: column.dtype for name, column in columns.items()})
        file["Events"].extend(columns)
    found = forkrun.Job(tmp_path / "a.root").columns()
    assert {column.compression for column in found} == {"not said"}


@pytest.mark.slow
def test_leaves_are_told_apart_from_classes(tmp_path: Path) -> None:
    file = tmp_path / "leaves.root"
    call_root(write_leaves, str(file))
    ended = command("columns", file, "--json", cwd=tmp_path)
    found = {each["name"]: each for each in json.loads(ended.out)}
    assert found["id"]["why_none"].startswith('objects, whose members are the columns "id.number"')
    assert found["packed"]["type"] == "float32"
    assert found["packed"]["compression"] == "lz4:4"


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("vector<vector<vector<vector<vector<vector<vector<float> > > > > > >", "lists 7 deep"),
        ("vector<Track*>", "a list of pointers"),
        ("map<string,int>", "a map"),
        ("vector<map<string,int> >", "a list of maps"),
        ("set<float>", "a set"),
        ("deque<float>", "a list, but not a vector"),
        ("TClonesArray", "objects of a class"),
        ("MyEvent", "an object of a class"),
        ("vector<unsigned long long>", "a list, but not a vector"),
    ],
)
def test_what_a_class_is_is_said_in_words(kind: str, why: str) -> None:
    assert why_no_column(kind).startswith(f"{why}; columns are numbers")


@pytest.mark.parametrize(
    "use",
    [
        lambda job: job.filter(lambda block: block["many0"] > 1),
        lambda job: job.redefine("many0", "event"),
        lambda job: job.configure(monitoring={"cutflow_weight": "many0"}).filter("event > 1"),
        lambda job: job.filter(lambda block: block.event > 0, consumes=["many0"]),
    ],
)
def test_whoever_names_a_branch_that_cannot_be_a_column_is_told_so(
    objects: Path, tmp_path: Path, use: Any
) -> None:
    job = forkrun.Job(objects)
    use(job)
    if any(step.kind == "producer" for step in job._steps.values()):
        job.hist("x" if "x" in job._steps else "many0", (5, 0, 1), name="h")
    job.hist("event", (5, 0, 1), name="other")
    with pytest.raises(ConfigError) as raised:
        job.run(children=0, quiet=True, output=tmp_path / "run")
    assert "of type vector<TLorentzVector>, which is not a column (objects, whose" in str(
        raised.value
    )
    assert "did you mean" not in str(raised.value)


def test_a_wrong_member_and_whole_objects_lead_to_members(objects: Path, tmp_path: Path) -> None:
    job = forkrun.Job(objects)
    job.filter(lambda block: block["clones.fQ"] > 1)
    with pytest.raises(ConfigError, match=r'did you mean "clones\.fE"'):
        job.run(children=0, quiet=True, output=tmp_path / "run")
    job = forkrun.Job(objects).hist("many0", (5, 0, 1))
    with pytest.raises(ConfigError, match="'many0' gives objects, with"):
        job.run(children=0, quiet=True, output=tmp_path / "run")


def test_messages_name_the_command_that_lists_all(tmp_path: Path) -> None:
    file = write_events(tmp_path / "a.root", [(1, 1, 30)])
    job = forkrun.Job(file).hist("Jet_ptt", (5, 0, 1))
    with pytest.raises(ConfigError) as raised:
        job.run(children=0, quiet=True, output=tmp_path / "run")
    assert f'did you mean "Jet_pt"? All columns: forkrun columns {file}' in str(raised.value)


def test_outputs_and_cpp_modules_look_there_too(objects: Path, tmp_path: Path) -> None:
    outputs = [{"label": "new", "mode": "friend", "keep": ["many0"]}]
    modules = [{"label": "c", "type": "cpp:MaskFilter", "params": {"column": "many0"}}]
    job = {"source": {"files": [str(objects)]}, "modules": modules, "outputs": outputs}
    ended = command("run", write_job(tmp_path, job), "--children", "0", cwd=tmp_path)
    assert ended.code == 2
    assert 'keep: "many0" exists, of type vector<TLorentzVector>' in ended.err


def test_datasets_say_which_of_them_have_a_column(tmp_path: Path) -> None:
    a = write_events(tmp_path / "a.root", [(1, 1, 30)])
    b = write_events(tmp_path / "b.root", [(1, 2, 30)])
    c = write_events(tmp_path / "c.root", [(1, 3, 30)], without=["Jet_pt"])
    columns = forkrun.Job({"one": a, "two": [b, c]}).columns("Jet_")
    assert [each.name for each in columns] == ["Jet_pt"]
    assert columns[0].held_by == "one, two (1 of 2 files)"
    assert columns[0].n_bytes == 2 * (forkrun.Job(a).columns()["Jet_pt"].n_bytes or 0)
    assert "<td>Jet_pt</td>" in columns._repr_html_()
    alone = forkrun.Job([b, c]).columns("Jet_*")
    assert alone[0].held_by == "1 of 2 files"


def test_a_job_is_found_in_its_configuration_and_in_its_script(tmp_path: Path) -> None:
    write_events(tmp_path / "a.root", [(1, 1, 30)])
    write_job(tmp_path, {"source": {"files": ["a.root"]}})
    script = tmp_path / "analysis.py"
    text = 'import forkrun\njob = forkrun.Job("a.root")\njob.run()\nraise SystemExit("too far")\n'
    script.write_text(text)
    tables = [
        command("columns", name, "jet", cwd=tmp_path).out
        for name in ("a.root", "job.json", "analysis.py")
    ]
    assert len(set(tables)) == 1
    assert tables[0].splitlines()[2].split()[:3] == ["Jet_pt", "float32[]", "Jet"]
    assert not (tmp_path / "job-run").exists()


def test_a_pattern_that_matches_nothing_and_a_file_without_ids_are_no_puzzles(
    tmp_path: Path,
) -> None:
    file = write_events(tmp_path / "a.root", [(1, 1, 30)], without=["run"])
    assert "Jet_pt" in command("columns", file, cwd=tmp_path).out
    ended = command("columns", file, "Jat_pt", cwd=tmp_path)
    assert (ended.code, 'did you mean "Jet_pt"?' in ended.err) == (2, True)
    ended = command("columns", file, "--tree", "Evnts", cwd=tmp_path)
    assert (ended.code, 'no tree "Evnts"' in ended.err) == (3, True)
    ended = command("run", write_job(tmp_path, {"source": {"files": ["a.root"]}}), cwd=tmp_path)
    assert f"forkrun columns {file}" in ended.err
