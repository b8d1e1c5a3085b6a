"""Outputs of several datasets: a file for each, or one with a column that says which."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

import forkrun
from tests.support.datasets import write, write_all
from tests.support.jobs import environment
from tests.support.jobs import forkrun as command
from tests.support.opened_by_root import open_with_root

N_EVENTS = {"a1": 600, "a2": 250, "b": 400, "data": 130}
FILES = {"a": ["a1.root", "a2.root"], "b": ["b.root"], "data": ["data.root"]}
"""Of each dataset. All have events of the same lumis and numbers."""
SIMULATION = {name: FILES[name] for name in ("a", "b")}
SUMS = {"a1": [10.0, 5.0], "a2": [25.0], "b": [8.0]}
QUIET: dict[str, Any] = {"quiet": True, "plots": False}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    write_all(tmp_path, N_EVENTS, SUMS)
    return tmp_path


def job(name: str, of: Mapping[str, Any] | None = None, **output: Any) -> forkrun.Job:
    """A skim of each third event, with a new column."""
    made = forkrun.Job(
        {key: {"files": files} for key, files in (of or FILES).items()},
        name=name,
        source={} if of == SIMULATION else {"branches": {"fill": {"genWeight": 1}}},
    )
    made.define("y", "event * x").filter("event % 3 == 0", label="third")
    return made.output("skim", **output)


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}


def events_of(file: Path, name: str = "event") -> list[Any]:
    with uproot.open(file) as opened:
        return opened["Events"][name].array(library="np").tolist()  # type: ignore[no-any-return]


def expected(dataset: str) -> list[int]:
    return [
        event
        for file in FILES[dataset]
        for event in range(0, N_EVENTS[file.removesuffix(".root")], 3)
    ]


def test_each_dataset_has_a_file_of_its_own_with_its_own_trees_beside(folder: Path) -> None:
    result = job("apart").run(children=2, **QUIET)
    skim = folder / "apart-run" / "output" / "skim"
    assert result.outputs == {"skim": skim}
    assert sorted(file.name for file in skim.iterdir()) == ["a.root", "b.root", "data.root"]
    assert result.files == [skim / f"{name}.root" for name in FILES]
    for name in FILES:
        assert result.output("skim", name) == skim / f"{name}.root"
        assert events_of(skim / f"{name}.root") == expected(name)
        assert events_of(skim / f"{name}.root", "y") == [event / 2 for event in expected(name)]
    with uproot.open(skim / "a.root") as a, uproot.open(skim / "data.root") as data:
        assert sorted(a["Runs"]["genEventSumw"].array(library="np").tolist()) == [5, 10, 25]
        assert "Runs" not in data
    assert {
        o["label"]: (o["n_events_merged"], o["agree"]) for o in result.report["events"]["outputs"]
    } == {f"skim/{name}": (len(expected(name)), True) for name in FILES}


def test_a_name_that_there_is_not_is_named(folder: Path) -> None:
    result = job("apart").run(children=1, **QUIET)
    with pytest.raises(
        forkrun.ConfigError, match='unknown output "skim/dta"; did you mean "skim/data"'
    ):
        result.output("skim", "dta")


CUTS: list[dict[str, Any]] = [
    {"forking": {"max_unit_events": 7}},
    {"threads": {"per_child": 2, "block_size": 11}},
    {"forking": {"distribution": "round-robin", "events_per_turn": 13}},
    {"forking": {"distribution": "lumi"}},
]


@pytest.mark.long
def test_bytes_are_the_same_however_the_job_is_cut(folder: Path) -> None:
    one = job("one").configure(source={"order": "lumi"}).run(children=0, **QUIET)
    for number, sections in enumerate(CUTS):
        made = job(f"other-{number}").configure(source={"order": "lumi"}).configure(**sections)
        other = made.run(children=3, **QUIET)
        assert files_in(one.output("skim")) == files_in(other.output("skim")), sections


@pytest.mark.long
def test_a_dataset_alone_gives_the_same_file(folder: Path) -> None:
    whole = job("whole", SIMULATION).run(children=2, **QUIET)
    for name in SIMULATION:
        made = job(f"only-{name}", SIMULATION).configure(source={"datasets": [name]})
        alone = made.run(children=2, **QUIET)
        assert files_in(alone.output("skim")) == {
            f"{name}.root": whole.output("skim", name).read_bytes()
        }


@pytest.mark.long
def test_friends_parquet_variations_and_lumis_are_apart_as_well(folder: Path) -> None:
    import pyarrow.parquet as pq

    made = job("kinds", parquet=True)
    made.vary("genWeight", "scale", up="2 * genWeight", down="genWeight / 2")
    made.filter("genWeight < 3", label="light")
    made.output("new", mode="friend", keep=["y"], variations=["scale_down"])
    made.output("lumis", per_lumi=True)
    result = made.run(children=2, **QUIET)
    for name in FILES:
        skim, new = result.output("skim", name), result.output("new", name)
        assert pq.read_table(skim.with_suffix(".parquet"))["event"].to_pylist() == events_of(skim)
        with uproot.open(new) as opened:
            assert set(opened["Events"].keys()) == {"run", "luminosityBlock", "event", "y"}
        listed = json.loads((result.output("lumis", name) / "files.json").read_bytes())
        assert [(file["run"], file["lumi"]) for file in listed] == [(1, 1), (1, 2)]
        parts = [result.output("lumis", name) / file["file"] for file in listed]
        assert sorted(event for part in parts for event in events_of(part)) == sorted(
            events_of(skim)
        )
    varied = [result.output("new_scale_down", name) for name in FILES]
    assert [len(events_of(file)) for file in varied] == [len(expected(name)) for name in FILES]
    by_lumi = {result.output("lumis", name) / file for name in FILES for file in LUMIS}
    assert by_lumi <= set(result.output("lumis").rglob("*.root"))
    assert all(file.exists() for file in result.files)


LUMIS = ("run000001_lumi00001.root", "run000001_lumi00002.root")


def test_a_dataset_without_events_has_a_file_with_all_branches(folder: Path) -> None:
    write(folder / "none.root", 0, None)
    result = job("empty", {**FILES, "none": ["none.root"]}).run(children=2, **QUIET)
    assert events_of(result.output("skim", "none")) == []
    with uproot.open(result.output("skim", "none")) as none:
        assert "y" in none["Events"]
    assert events_of(result.output("skim", "b")) == expected("b")


@pytest.mark.long
def test_a_killed_job_and_its_merge_go_on_with_the_same_bytes(folder: Path) -> None:
    made = job("job").configure(forking={"max_unit_events": 20})
    whole = made.run(output=folder / "whole", children=2, **QUIET)
    (folder / "job.toml").write_text(made.to_toml())
    faults = [{"fault": "SIGKILL", "at": "before_rename", "unit": 5}]
    env = environment(FORKRUN_CHAOS=json.dumps(faults))
    assert command("run", "job.toml", "-o", "killed", cwd=folder, env=env).code == 0
    (folder / "killed" / "output" / "skim" / "b.root").write_bytes(b"?")
    assert command("run", "job.toml", "-o", "killed", cwd=folder).code == 0
    assert files_in(folder / "killed" / "output") == files_in(whole.run_directory / "output")


@pytest.mark.long
def test_nodes_and_merges_in_parts_give_the_same_bytes(folder: Path) -> None:
    made = job("job", SIMULATION, compression="zstd:1").configure(forking={"max_unit_events": 20})
    made.output("all", parquet=True)
    whole = made.run(output=folder / "whole", children=2, **QUIET)
    (folder / "job.toml").write_text(made.to_toml())
    nodes = ("--on", "local", "--nodes", 3, "--dry-run")
    ended = command("submit", "job.toml", "-o", "nodes", *nodes, cwd=folder)
    assert ended.code == 0, ended.err
    for number in range(3):
        ended = command("node", "nodes", number, "-q", cwd=folder)
        assert ended.code == 0, ended.err
    for part in ("0/2", "1/2"):
        ended = command("collect", "nodes", "--part", part, cwd=folder)
        assert ended.code == 0, ended.err
    cuts = json.loads((folder / "nodes/batch/merge/cuts.json").read_bytes())["cuts"]
    assert list(cuts) == [f"{label}/{name}" for label in ("skim", "all") for name in SIMULATION]
    ended = command("collect", "nodes", cwd=folder)
    assert ended.code == 0, ended.err
    assert files_in(folder / "nodes" / "output") == files_in(whole.run_directory / "output")


@pytest.mark.parametrize(
    ("output", "datasets", "words"),
    [
        (
            {"datasets": "apart"},
            {"": FILES["a"]},
            r"outputs\[0\]\.datasets .*: the job has no \[\[datasets\]\]",
        ),
        ({}, {"a": FILES["a"], "A": FILES["b"]}, r'datasets "a" and "A" share a file'),
        (
            {"datasets": "together", "per_lumi": True},
            FILES,
            r"per_lumi.* lumis of different datasets",
        ),
        ({"datasets": "alone"}, FILES, r"should be 'apart' or 'together'"),
    ],
)
def test_what_cannot_be_is_said(
    folder: Path, output: dict[str, Any], datasets: dict[str, Any], words: str
) -> None:
    if "" in datasets:
        made = forkrun.Job(datasets[""]).output("skim", **output)
    else:
        made = job("wrong", datasets, **output)
    with pytest.raises(forkrun.ConfigError, match=words):
        made.run(children=0, **QUIET)


def test_together_a_column_and_an_object_of_the_file_say_which_dataset(folder: Path) -> None:
    result = job("together", datasets="together", keep=["event"], parquet=True).run(
        children=2, **QUIET
    )
    skim = folder / "together-run" / "output" / "skim.root"
    assert result.outputs == {"skim": skim}
    with uproot.open(skim) as file:
        names = json.loads(file["datasets"])
        events = file["Events"].arrays(["dataset", "event"], library="np")
    found = {
        name: events["event"][events["dataset"] == number].tolist()
        for number, name in enumerate(names)
    }
    assert found == {name: expected(name) for name in FILES}
    assert events["dataset"].dtype == np.int32
    import pyarrow.parquet as pq

    table = pq.read_table(skim.with_suffix(".parquet"))
    assert table["dataset"].to_pylist() == events["dataset"].tolist()
    (contents,) = open_with_root([skim])
    assert contents["datasets"] == "TObjString"


@pytest.mark.slow
def test_outputs_of_datasets_together_are_merged_if_their_numbers_mean_the_same(
    folder: Path,
) -> None:
    skims = []
    for name in SIMULATION:
        made = job(name, SIMULATION, datasets="together").configure(source={"datasets": [name]})
        skims.append(made.run(children=1, **QUIET).output("skim"))
    assert forkrun.merge_files(skims, folder / "both.root")["Events"] == 284 + 134
    with uproot.open(folder / "both.root") as file:
        assert json.loads(file["datasets"]) == [*SIMULATION]
        assert set(file["Events"]["dataset"].array(library="np").tolist()) == {0, 1}
    renamed = {"tt": FILES["a"], "b": FILES["b"]}
    other = job("other", renamed, datasets="together").run(children=1, **QUIET).output("skim")
    with pytest.raises(forkrun.InputError, match='"datasets"'):
        forkrun.merge_files([skims[0], other], folder / "no.root")


def test_together_and_apart_in_one_job_and_a_column_of_that_name(folder: Path) -> None:
    made = job("mixed", datasets="together").output("all")
    result = made.run(children=2, **QUIET)
    with uproot.open(result.output("skim")) as opened:
        assert set(opened["Events"]["dataset"].array(library="np").tolist()) == {0, 1, 2}
        assert "Runs" not in opened
    with uproot.open(result.output("all", "a")) as opened:
        assert "dataset" not in opened["Events"]
        assert "Runs" in opened
    wrong = job("wrong", datasets="together").define("dataset", "x")
    with pytest.raises(forkrun.ConfigError, match='adds a column "dataset", which the input or a'):
        wrong.run(children=0, **QUIET)
