"""Trees that go with the events: skimmed with them, entry by entry, and read as columns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import forkrun as package
from tests.batch.jobs import of_one_node, submit
from tests.index.test_friends import ids_of
from tests.server.root_program import call_root, declare
from tests.support.files import write_events
from tests.support.jobs import environment, forkrun, output_digests, write_job

LUMIS = [(1, 1, 60), (1, 2, 40), (2, 1, 50)]
UP, DOWN = "JetSys_up", "JetSys_down"


def add_trees(path: Path, events: Sequence[int], names: Sequence[str] = (UP, DOWN)) -> Path:
    """Trees with an entry for each event: numbers, lists, and the event's own number; and one row
    of something else."""
    numbers = np.array(events, dtype=np.uint64)
    with uproot.update(path) as file:
        for scale, name in enumerate(names, 1):
            counts = numbers.astype(np.int64) % 4
            pts = ak.unflatten(np.arange(counts.sum(), dtype=np.float32) * scale, counts)
            columns = {"met": scale * numbers.astype(np.float64), "number": numbers, "pt": pts}
            file.mktree(name, {"met": "float64", "number": "uint64", "pt": "var * float32"})
            file[name].extend(columns)
    return add_tree(path, "Runs", {"n": np.array([len(numbers)], np.int64)})


def add_tree(path: Path, name: str, columns: dict[str, Any]) -> Path:
    with uproot.update(path) as file:
        file.mktree(name, {key: values.dtype for key, values in columns.items()})
        file[name].extend(columns)
    return path


def two_files(folder: Path) -> list[Path]:
    return [
        add_trees(write_events(folder / "a.root", LUMIS[:2]), range(1, 101)),
        add_trees(write_events(folder / "b.root", LUMIS[2:], first_event=101), range(101, 151)),
    ]


def job(folder: Path, files: Sequence[Path], trees: Any = "JetSys_*", **sections: Any) -> Path:
    source = {"files": [str(file) for file in files], "trees_with_events": trees}
    config = {
        "job": {"name": "trees"},
        "source": {**source, **sections.pop("source", {})},
        "modules": [
            {"label": "some", "type": "expression:JetSys_up.met % 3 == 0", "kind": "filter"},
            {"label": "ratio", "type": "expression:JetSys_down.met / JetSys_up.met",
             "kind": "producer"},
        ],
        "paths": {"some": ["some"]},
        "outputs": [{"label": "skim", "paths": ["some"]}],
        **sections,
    }  # fmt: skip
    return write_job(folder, config)


def expected(files: Sequence[Path], tree: str) -> ak.Array:
    parts = [uproot.open(file)[tree].arrays() for file in files]
    events = ak.concatenate(parts)
    return events[np.arange(1, len(events) + 1) % 3 == 0]


def same(one: ak.Array, other: ak.Array) -> bool:
    return bool(one.fields == other.fields and one.to_list() == other.to_list())


@pytest.mark.long
def test_trees_are_skimmed_with_the_events_for_any_children_and_blocks(tmp_path: Path) -> None:
    files = two_files(tmp_path)
    config = job(tmp_path, files)
    digests = []
    for n, options in enumerate((["--children", 0], ["--children", 3, "--threads", 2])):
        ended = forkrun("run", config, "-o", f"run-{n}", *options, cwd=tmp_path)
        assert ended.code == 0, ended.err
        digests.append(output_digests(tmp_path / f"run-{n}"))
    checked = forkrun("check", config, cwd=tmp_path)
    assert f"trees that go with the events: {UP}, {DOWN}" in checked.out, checked.out
    small = job(tmp_path, files, threads={"block_size": 7})
    assert forkrun("run", small, "-o", "small", cwd=tmp_path).code == 0
    assert digests == [output_digests(tmp_path / "small")] * 2
    with uproot.open(tmp_path / "run-0/output/skim.root") as skim:
        assert skim.keys(cycle=False) == ["Events", UP, DOWN, "Runs", "forkrun_origins"]
        assert skim["Events/event"].array().tolist() == list(range(3, 151, 3))
        assert skim["Events/ratio"].array().tolist() == [2.0] * 50
        for tree in (UP, DOWN):
            assert same(skim[tree].arrays(), expected(files, tree))
        assert skim["Runs/n"].array().tolist() == [100, 50]
    assert same_as_root(files, tmp_path / "run-0/output/skim.root")


def same_as_root(files: Sequence[Path], skim: Path) -> bool:
    """TTree::Draw, with the trees as friends, takes the same entries."""
    theirs, ours = call_root(drawn, [str(file) for file in files], str(skim))
    return bool(theirs == ours and len(ours) == 50)


def drawn(files: list[str], skim: str) -> Any:
    """It reads formulas, for which ROOT compiles nothing."""
    import ROOT

    columns = (
        "event", "JetSys_up.number", "JetSys_down.met", "JetSys_down.npt", "Sum$(JetSys_down.pt)",
    )  # fmt: skip
    found = []
    for names, selection in (
        (files, "JetSys_up.met - 3 * int(JetSys_up.met / 3) == 0"),
        ([skim], ""),
    ):
        chains = [ROOT.TChain(tree) for tree in ("Events", "JetSys_up", "JetSys_down")]
        for chain in chains:
            for name in names:
                chain.Add(name)
        for friend in chains[1:]:
            chains[0].AddFriend(friend)
        n_drawn = chains[0].Draw(":".join(columns), selection, "goff para")
        values = [chains[0].GetVal(number) for number in range(len(columns))]
        found.append([[column[row] for column in values] for row in range(n_drawn)])
    return found


def test_patterns_of_keep_and_drop_name_trees_and_their_branches(tmp_path: Path) -> None:
    files = two_files(tmp_path)
    outputs: list[dict[str, Any]] = [
        {"label": "all", "keep": ["event"]},
        {"label": "none", "drop": ["JetSys_*.*"]},
        {"label": "one", "keep": ["event", "JetSys_up.met"], "drop": ["JetSys_down.*"]},
        {"label": "lists", "keep": ["*", "*.pt"]},
        {"label": "ids", "mode": "friend"},
    ]
    config = job(tmp_path, files, outputs=outputs, paths={})
    ended = forkrun("run", config, "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "matches nothing" not in ended.out + ended.err
    found = {}
    for output in outputs:
        with uproot.open(tmp_path / f"run/output/{output['label']}.root") as file:
            found[output["label"]] = {
                tree: file[tree].keys() for tree in ("Events", UP, DOWN) if tree in file
            }
    whole = ["met", "number", "npt", "pt"]
    assert found["all"] == {"Events": ["event"], UP: whole, DOWN: whole}
    assert list(found["none"]) == ["Events"]
    assert found["one"] == {"Events": ["event"], UP: ["met"]}
    assert found["lists"][UP] == found["lists"][DOWN] == ["npt", "pt"]
    assert "ratio" in found["lists"]["Events"]
    assert list(found["ids"]) == ["Events"]


def test_a_tree_of_other_entries_is_an_error_of_check(tmp_path: Path) -> None:
    first, second = two_files(tmp_path)
    add_tree(second, "JetSys_bad", {"x": np.zeros(49)})
    add_tree(first, "JetSys_bad", {"x": np.zeros(100)})
    for command in ("check", "run"):
        ended = forkrun(command, job(tmp_path, [first, second]), cwd=tmp_path)
        assert ended.code == 3, ended.err
        assert f'{second}: tree "JetSys_bad" has 49 entries, but the tree of events' in ended.err
        assert '"Events" has 50; source.trees_with_events takes trees with an entry' in ended.err
    add_tree(first, "JetSys_new", {"x": np.zeros(100)})
    ended = forkrun("check", job(tmp_path, [first, second], ["JetSys_new"]), cwd=tmp_path)
    assert f'{second}: has no tree "JetSys_new", which other files have' in ended.err
    ended = forkrun("check", job(tmp_path, [first, second], ["JetSys_dwn"]), cwd=tmp_path)
    assert ended.code == 2
    assert '"JetSys_dwn": no file has such a tree with the events; did you mean' in ended.err


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("rule", ["same", {"fill": {"*": 0}}])
def test_a_branch_that_one_file_lacks_of_a_tree_is_refused_with_what_helps(
    tmp_path: Path, rule: Any
) -> None:
    """Nothing is filled in trees that go with the events, whatever a pattern says."""
    files = two_files(tmp_path)
    add_tree(files[0], "JetSys_new", {n: np.arange(100.0) for n in ("met", "late")})
    add_tree(files[1], "JetSys_new", {"met": np.arange(50.0)})
    config = job(tmp_path, files, source={"branches": rule})
    ended = forkrun("check", config, cwd=tmp_path)
    assert ended.code == 3, ended.err
    assert (
        f"{files[1]}: this file lacks branch JetSys_new.late, which other files have and the job"
        " reads or keeps; trees that go with the events are not filled: leave it out of the"
        ' outputs: drop = ["JetSys_new.late"]'
    ) in ended.err
    dropped = [{"label": "skim", "paths": ["some"], "drop": ["JetSys_new.late"]}]
    for remedy in ({"outputs": dropped}, {"source": {"branches": "common"}}):
        given = job(tmp_path, files, **remedy)
        assert forkrun("run", given, "-o", "run", "--force", "-q", cwd=tmp_path).code == 0
        with uproot.open(tmp_path / "run/output/skim.root") as skim:
            assert skim["JetSys_new"].keys() == ["met"]


def test_files_without_events_and_trees_without_entries_go_along(tmp_path: Path) -> None:
    first, second = two_files(tmp_path)
    empty = add_trees(write_events(tmp_path / "e.root", []), [])
    config = job(tmp_path, [empty, first, empty.rename(tmp_path / "e2.root"), second][1:])
    ended = forkrun("run", config, "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    with uproot.open(tmp_path / "run/output/skim.root") as skim:
        assert same(skim[UP].arrays(), expected([first, second], UP))


def test_a_skim_of_nothing_has_the_trees_without_entries(tmp_path: Path) -> None:
    files = two_files(tmp_path)
    none = [{"label": "some", "type": "expression:JetSys_up.met < 0", "kind": "filter"}]
    ended = forkrun("run", job(tmp_path, files, modules=none), "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    with uproot.open(tmp_path / "run/output/skim.root") as skim:
        assert [skim[tree].num_entries for tree in ("Events", UP, DOWN)] == [0, 0, 0]
        assert skim[UP].keys() == ["met", "number", "npt", "pt"]


def run_by_one_and_two(config: Path) -> None:
    """Children, in run-1 and run-2 beside the job's file, with the same bytes."""
    digests = []
    for n in (1, 2):
        ended = forkrun("run", config, "-o", f"run-{n}", "--children", n, cwd=config.parent)
        assert ended.code == 0, ended.err
        digests.append(output_digests(config.parent / f"run-{n}"))
    assert digests[0] == digests[1]


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("order", ["input", "lumi", "sorted"])
def test_each_order_is_that_of_the_events(tmp_path: Path, order: str) -> None:
    """The lumis of the file come in turns."""
    lumis = [(1, 1 + n % 3, 5) for n in range(30)]
    file = add_trees(write_events(tmp_path / "a.root", lumis), range(1, 151))
    outputs = [{"label": "skim", "paths": ["some"]}, {"label": "all", "compression": "lz4:4"}]
    config = job(tmp_path, [file], source={"order": order}, outputs=outputs)
    run_by_one_and_two(config)
    for label in ("skim", "all"):
        with uproot.open(tmp_path / f"run-1/output/{label}.root") as made:
            assert made["Events/event"].array().tolist() == made[f"{UP}/number"].array().tolist()
            assert made[f"{DOWN}/number"].array().tolist() == made["Events/event"].array().tolist()


def test_files_by_lumi_and_by_dataset_have_the_trees_of_their_events(tmp_path: Path) -> None:
    first, second = two_files(tmp_path)
    datasets = [{"name": n, "files": [str(f)]} for n, f in (("A", first), ("B", second))]
    outputs = [
        {"label": "skim", "paths": ["some"]},
        {"label": "lumis", "per_lumi": True},
        {"label": "both", "datasets": "together"},
    ]
    config = job(tmp_path, [], source={"files": []}, datasets=datasets, outputs=outputs)
    ended = forkrun("run", config, "-o", "run", "--children", 2, cwd=tmp_path)
    assert ended.code == 0, ended.err
    files = sorted((tmp_path / "run/output").rglob("*.root"))
    assert len(files) == 2 + 3 + 1
    n_events = 0
    for path in files:
        with uproot.open(path) as made:
            events = made["Events/event"].array().tolist()
            n_events += len(events)
            assert made[f"{UP}/number"].array().tolist() == events
            assert made[f"{DOWN}/met"].array().tolist() == [2.0 * n for n in events]
    assert n_events == 50 + 150 + 150


@pytest.mark.slow
def test_trees_of_objects_and_folders_go_along(tmp_path: Path) -> None:
    path = tmp_path / "objects.root"
    call_root(write_objects, str(path))
    ids = {"tree": "ntuple/Events", "run_branch": "", "lumi_branch": "", "event_branch": ""}
    modules = [{"label": "some", "type": "expression:sys.x % 2 == 0", "kind": "filter"}]
    config = job(tmp_path, [path], ["sys", "vec"], source=ids, modules=modules)
    run_by_one_and_two(config)
    assert call_root(read_objects, str(tmp_path / "run-1/output/skim.root")) == [
        [float(n), float(n), [float(n)] * (n % 3), f"text {n}"] for n in range(0, 100, 2)
    ]


def write_objects(path: str) -> None:
    import ROOT

    declare("""
void write_objects_with_events(const char* path) {
  TFile file(path, "recreate");
  file.mkdir("ntuple")->cd();
  TTree events("Events", ""), sys("sys", ""), vec("vec", "");
  float x; std::vector<std::vector<float>> lists; TNamed named; std::string text;
  events.Branch("x", &x); sys.Branch("x", &x);
  vec.Branch("lists", &lists); vec.Branch("named", &named); vec.Branch("text", &text);
  for (int n = 0; n < 100; ++n) {
    x = n; lists.assign(n % 3, {float(n)}); text = "text " + std::to_string(n);
    named.SetName(text.c_str());
    events.Fill(); sys.Fill(); vec.Fill();
  }
  file.Write();
}""")
    ROOT.write_objects_with_events(path)


def read_objects(path: str) -> Any:
    import ROOT

    file = ROOT.TFile(path)
    events, sys, vec = (file.Get(f"ntuple/{name}") for name in ("Events", "sys", "vec"))
    found = []
    for n in range(events.GetEntries()):
        for tree in (events, sys, vec):
            tree.GetEntry(n)
        lists = [float(each[0]) for each in vec.lists]
        assert vec.named.GetName() == str(vec.text)
        found.append([float(events.x), float(sys.x), lists, str(vec.text)])
    return found


def test_modules_read_trees_and_other_events_in_them_are_refused(tmp_path: Path) -> None:
    file = write_events(tmp_path / "a.root", LUMIS)
    events = np.arange(1, 151, dtype=np.uint64)
    add_tree(file, "Same", {**ids_of(events), "x": 2.0 * events})
    add_tree(file, "Other", {**ids_of(events), "event": events[::-1].copy(), "y": 2.0 * events})
    made_job = package.Job(str(file), name="j", source={"trees_with_events": "Same"})

    def twice(block: Any) -> Any:
        return block["Same.x"] - block.event

    made_job.define("twice", twice)
    made_job.output("out", keep=["event", "twice"])
    done = made_job.run(children=2, output=tmp_path / "run", quiet=True)
    with uproot.open(done.outputs["out"]) as out:
        assert out["Events/twice"].array().tolist() == events.tolist()
        assert out["Same/event"].array().tolist() == events.tolist()
    columns = made_job.columns()
    assert columns["Same.x"].held_by == "tree Same"
    ended = forkrun("check", job(tmp_path, [file], "Other", modules=[], paths={},
                                 outputs=[{"label": "o"}]), cwd=tmp_path)  # fmt: skip
    assert ended.code == 3
    assert 'tree "Other" has other events than' in ended.err


@pytest.mark.long
def test_outputs_with_trees_are_merged_as_other_files_are(tmp_path: Path) -> None:
    first, second = two_files(tmp_path)
    skims = []
    for name, files in (("a", [first]), ("b", [second]), ("ab", [first, second])):
        ended = forkrun("run", job(tmp_path, files), "-o", name, cwd=tmp_path)
        assert ended.code == 0, ended.err
        skims.append(tmp_path / name / "output/skim.root")
    ended = forkrun("merge", "both.root", *skims[:2], cwd=tmp_path)
    assert ended.code == 0, ended.err
    with uproot.open(tmp_path / "both.root") as one, uproot.open(skims[2]) as other:
        for tree in ("Events", UP, DOWN):
            assert one[tree].num_entries == 50
            assert one[tree].arrays().to_list() == other[tree].arrays().to_list()


@pytest.mark.long
def test_a_killed_child_and_a_merge_done_again_leave_the_same_bytes(tmp_path: Path) -> None:
    config = job(tmp_path, two_files(tmp_path), forking={"max_unit_events": 20, "children": 2})
    whole = of_one_node(config)
    env = environment(
        FORKRUN_CHAOS=json.dumps([{"fault": "SIGKILL", "at": "before_rename", "unit": 2}])
    )
    assert forkrun("run", config, "-o", "killed", cwd=tmp_path, env=env).code == 0
    (tmp_path / "killed/output/skim.root").write_bytes(b"?")
    ended = forkrun("run", config, "-o", "killed", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert output_digests(tmp_path / "killed") == whole


@pytest.mark.slow
def test_nodes_and_parts_of_outputs_have_the_bytes_of_one_run(tmp_path: Path) -> None:
    files = two_files(tmp_path)
    outputs = [{"label": "skim", "paths": ["some"], "keep": ["*", "JetSys_up.*", "*.number"]}]
    config = job(tmp_path, files, outputs=outputs, paths={"some": ["some"]})
    assert submit(config, "nodes", "--nodes", 3).code == 0
    for number in range(3):
        ended = forkrun("node", "nodes", number, "-q", cwd=tmp_path)
        assert ended.code == 0, ended.err
    for number in range(3):
        part = ("collect", "nodes", "--part", f"{number}/3")
        assert forkrun(*part, cwd=tmp_path).code == 0
    ended = forkrun("collect", "nodes", "-q", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert output_digests(tmp_path / "nodes") == of_one_node(config)
