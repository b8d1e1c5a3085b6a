"""Several trees of a file as input, by pattern: one sequence of events, in the order of keys."""

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
from tests.support.jobs import forkrun, output_digests, write_job

FOLDERS = ("DF_2", "DF_10", "DF_1")
NO_IDS = {"run_branch": "", "lumi_branch": "", "event_branch": ""}


def write_folders(path: Path, first: int, n_events: Sequence[int] = (40, 0, 30)) -> Path:
    """Events in a tree of each folder, beside it a tree that goes with them, and one of tracks."""
    with uproot.recreate(path) as file:
        for folder, n in zip(FOLDERS, n_events, strict=True):
            number = np.arange(first, first + n, dtype=np.uint64)
            first += n
            ones = np.ones(n, np.uint32)
            lists = ak.unflatten(np.arange((number % 3).sum(), dtype=np.float32), number % 3)
            trees = {
                "coll": {"run": ones, "luminosityBlock": ones * 7, "event": number, "x": lists},
                "more": {"y": 2.0 * number},
                "track": {"z": np.arange(3.0)},
            }
            for name, columns in trees.items():
                kinds = {k: "var * float32" if k == "x" else v.dtype for k, v in columns.items()}
                file.mktree(f"{folder}/{name}", kinds)
                file[f"{folder}/{name}"].extend(columns)
    return path


def job(folder: Path, files: Sequence[Path], source: dict[str, Any], **sections: Any) -> Path:
    config = {
        "job": {"name": "folders"},
        "source": {"files": [str(f) for f in files], "tree": "DF_*/coll", **source},
        "modules": [
            {"label": "some", "type": "expression:event % 4 < 3", "kind": "filter"},
            {"label": "n", "type": "expression:num(x) + 0", "kind": "producer"},
        ],
        "paths": {"some": ["some"]},
        "outputs": [{"label": "skim", "paths": ["some"]}],
        **sections,
    }
    return write_job(folder, config)


def in_order(files: Sequence[Path], tree: str) -> ak.Array:
    return ak.concatenate(
        [uproot.open(file)[f"{folder}/{tree}"].arrays() for file in files for folder in FOLDERS]
    )


@pytest.mark.slow
def test_trees_of_a_pattern_are_one_sequence_of_events(tmp_path: Path) -> None:
    files = [write_folders(tmp_path / "a.root", 1), write_folders(tmp_path / "b.root", 71)]
    source = {"trees_with_events": "more"}
    digests = []
    for n, size in ((1, 0), (3, 9)):
        config = job(tmp_path, files, source, **({"threads": {"block_size": size}} if size else {}))
        ended = forkrun("run", config, "-o", f"run-{n}", "--children", n, cwd=tmp_path)
        assert ended.code == 0, ended.err
        digests.append(output_digests(tmp_path / f"run-{n}"))
    assert digests[0] == digests[1]
    events = in_order(files, "coll")
    chosen = events.event % 4 < 3
    with uproot.open(tmp_path / "run-1/output/skim.root") as skim:
        trees = {key for key in skim.keys(cycle=False) if "/" in key or key in ("coll", "more")}
        assert trees == {"coll", "more", *(f"{folder}/track" for folder in FOLDERS)}
        made = skim["coll"].arrays()
        assert made.event.tolist() == events.event[chosen].tolist() == sorted(made.event.tolist())
        assert made.x.to_list() == events.x[chosen].to_list()
        assert made.n.to_list() == ak.num(events.x)[chosen].to_list()
        assert skim["more/y"].array().tolist() == (2.0 * made.event).tolist()
        assert skim["DF_1/track/z"].array().tolist() == [0.0, 1.0, 2.0] * 2
    ended = forkrun("merge", "twice.root", *[tmp_path / "run-1/output/skim.root"] * 2, cwd=tmp_path)
    assert ended.code == 0, ended.err
    with uproot.open(tmp_path / "twice.root") as twice:
        assert twice["more/y"].array().tolist() == (2.0 * made.event).tolist() * 2


@pytest.mark.long
def test_nodes_and_names_in_outputs(tmp_path: Path) -> None:
    files = [write_folders(tmp_path / "a.root", 1), write_folders(tmp_path / "b.root", 71)]
    source = {"trees_with_events": "more", "tree_in_outputs": "out/Events"}
    config = job(tmp_path, files, source)
    assert submit(config, "nodes", "--nodes", 3).code == 0
    for number in range(3):
        ended = forkrun("node", "nodes", number, "-q", cwd=tmp_path)
        assert ended.code == 0, ended.err
    ended = forkrun("collect", "nodes", "-q", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert output_digests(tmp_path / "nodes") == of_one_node(config)
    with uproot.open(tmp_path / "nodes/output/skim.root") as skim:
        assert skim["out/Events"].num_entries == skim["out/more"].num_entries == 105


def test_trees_without_ids_are_a_lumi_each_and_plan_and_columns_know_them(tmp_path: Path) -> None:
    file = write_folders(tmp_path / "a.root", 1)
    config = job(tmp_path, [file], NO_IDS)
    ended = forkrun("plan", config, "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["n_lumis"] == 2
    ended = forkrun("check", config, cwd=tmp_path)
    assert "70 events in 2 lumis of 3 trees of 1 file," in ended.out
    assert f"no events in {file}: DF_10/coll" in ended.out
    ended = forkrun("columns", file, "--tree", "DF_*/coll", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "float32[]" in ended.out
    ended = forkrun("check", job(tmp_path, [file], {"tree": "DF_*/cool"}), cwd=tmp_path)
    assert ended.code == 3
    assert 'no tree "DF_*/cool"' in ended.err


def test_events_that_come_again_and_single_ones_are_found_in_their_trees(tmp_path: Path) -> None:
    with uproot.recreate(tmp_path / "a.root") as file:
        for name in ("up", "down"):
            ids = {"run": np.ones(4, np.uint32), "luminosityBlock": np.ones(4, np.uint32)}
            columns: dict[str, Any] = {**ids, "event": np.arange(4, dtype=np.uint64)}
            file.mktree(f"tree_{name}", {key: each.dtype for key, each in columns.items()})
            file[f"tree_{name}"].extend(columns)
    source = {"files": str(tmp_path / "a.root"), "tree": "tree_*"}
    ended = forkrun("check", write_job(tmp_path, {"source": source}), cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert f"entry 0 of {tmp_path}/a.root: tree_up and entry 0 of" in ended.out + ended.err
    only = {**source, "only": ["1:1:2"]}
    config = write_job(tmp_path, {"source": only, "outputs": [{"label": "two"}]})
    assert forkrun("run", config, "-o", "run", cwd=tmp_path).code == 0
    with uproot.open(tmp_path / "run/output/two.root") as made:
        assert made["Events/event"].array().tolist() == [2, 2]


@pytest.mark.slow
def test_a_real_file_of_alice(real_data: Path, tmp_path: Path) -> None:
    file = real_data / "objects/AO2D.root"
    made = package.Job(str(file), name="ao2d", tree="DF_*/O2udcollision", source=NO_IDS)
    made.define("z2", "2 * fPosZ").output("all", keep=["*"])
    done = made.run(children=2, output=tmp_path / "run", quiet=True)
    with uproot.open(file) as theirs, uproot.open(done.outputs["all"]) as ours:
        trees = [key for key in theirs.keys(cycle=False) if key.endswith("/O2udcollision")]
        z = ak.concatenate([theirs[tree]["fPosZ"].array() for tree in trees])
        assert ours["O2udcollision/fPosZ"].array().tolist() == z.tolist()
        assert ours["O2udcollision/z2"].array().tolist() == (2 * z).tolist()
        assert f"{trees[0].split('/')[0]}/O2udtrack" in ours
        assert trees[0] not in ours


def test_a_name_with_a_star_is_that_of_the_tree_which_has_it(tmp_path: Path) -> None:
    with uproot.recreate(tmp_path / "a.root") as file:
        for name, first in (("star", 100), ("st*r", 1)):
            file.mktree(name, {"event": np.uint64})
            file[name].extend({"event": np.arange(first, first + 9, dtype=np.uint64)})
    source = {**NO_IDS, "tree": "st*r"}
    sections = {"modules": [], "paths": {}, "outputs": [{"label": "skim"}]}
    config = job(tmp_path, [tmp_path / "a.root"], source, **sections)
    ended = forkrun("run", config, "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    with uproot.open(tmp_path / "run/output/skim.root") as skim:
        assert {name: skim[name]["event"].array().tolist()[0] for name in ("st*r", "star")} == {
            "st*r": 1,
            "star": 100,
        }
    ended = forkrun("resume", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
